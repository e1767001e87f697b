/** Tells about the API and the process: `/health`, `/openapi.json` and a page to read, none of which asks for a key. */
import type { Db } from "@superstep/toolkit/db/database"
import { pingDatabase } from "@superstep/toolkit/db/ping"
import { referencePage } from "@superstep/toolkit/http/reference-page"
import type { Api } from "@superstep/toolkit/http/route"
import type { Context } from "hono"

/** Adds the three. The document lists the routes that were added before. */
export function addReference(api: Api, db: Db): void {
  const document = api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Superstep control plane",
      version: "v2",
      description: "Every path is also served below /api-host. Send X-Api-Key, and X-Tenant-Id to name a workspace.",
    },
    security: [{ api_key: [] }],
  })
  const openapi = {
    ...document,
    components: {
      ...document.components,
      securitySchemes: { api_key: { type: "apiKey", in: "header", name: "X-Api-Key" } },
    },
  }
  const page = referencePage(document)

  api.get("/health", async (c) => {
    await pingDatabase(db)
    return c.json({ status: "ok" })
  })
  api.get("/openapi.json", (c) => c.json(openapi))
  api.get("/docs", (c) => sendPage(c, page))
}

const sendPage = (c: Context, page: string): Response =>
  c.html(page, 200, { "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'" })
