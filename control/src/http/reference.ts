/** Tells about the API and the process: `/health`, `/openapi.json` and a page to read, none of which asks for a key. */
import type { Db } from "@superstep/toolkit/db/database"
import { pingDatabase } from "@superstep/toolkit/db/ping"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { referencePage } from "@superstep/toolkit/http/reference-page"
import type { Api } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { openApiDocument } from "./document.js"

/**
 * Adds them, after all routes that the document lists. It is made when somebody asks for it: that takes as long as the rest of
 * a start.
 * @param isStarting  while it is, `/health` answers 503: agents are not looked after yet
 */
export function addReference(api: Api, { db, isStarting }: { db: Db; isStarting: () => boolean }): void {
  const document = once(() => openApiDocument(api))
  const page = once(() => referencePage(document() as never))

  api.get("/health", async (c) => {
    if (isStarting()) throw new Unavailable("the control plane is starting: try again in a moment", 1000)
    await pingDatabase(db)
    return c.json({ status: "ok" })
  })
  api.get("/openapi.json", (c) => c.json(document()))
  // The original has its reference at both (control-plane §1.1).
  for (const path of ["/docs", "/redoc"]) api.get(path, (c) => sendPage(c, page()))
}

/** @returns what `make` gave the first time */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const sendPage = (c: Context, page: string): Response =>
  c.html(page, 200, { "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'" })
