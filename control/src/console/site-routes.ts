/** Serves the pages of the console. They are public files: who is signed in matters only to the API that they call. */
import { NotFound } from "@superstep/toolkit/errors/errors"
import type { StaticSite } from "@superstep/toolkit/http/static-site"
import type { Hono, NotFoundHandler } from "hono"
import { asksForPage } from "../http/asked-page.js"

interface SiteRoutes {
  readonly site: StaticSite
  readonly version: string
}

/** Adds the pages' fixed addresses: their files, and what they ask first. */
export function addSite(app: Hono, { site, version }: SiteRoutes): void {
  app.get("/", (c) => site.page(c))
  app.get("/console.json", (c) => c.json({ home: "platform", version }, 200, { "cache-control": "no-cache" }))
  app.get("/assets/:name", async (c) => {
    const asset = await site.asset(c, c.req.param("name"))
    if (!asset)
      throw new NotFound("the console has no such file: reload the page, since another release may serve it now")
    return asset
  })
}

// What belongs to the API stays the API's, also where it has no such route.
const ofApi = /^\/(v1|v2|api-host|_uploads|o|docs|redoc|health|metrics|openapi\.json|console\.json|assets)(\/|$)/

/** Answers with the page at every address that is not the API's: which page it shows, it decides itself. @param otherwise  for all others */
export const pageOrNotFound =
  (site: StaticSite, otherwise: NotFoundHandler): NotFoundHandler =>
  (c) =>
    asksForPage(c) && !ofApi.test(c.req.path) ? site.page(c) : otherwise(c)
