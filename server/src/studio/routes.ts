/**
 * Serves the pages of the console that concern an agent, to the developer at this machine. They are public files that call the routes of
 * this server as any client does; `requireLoopbackHost` and `requireKnownOrigin` come first.
 */
import { NotFound } from "@superstep/toolkit/errors/errors"
import type { Api } from "@superstep/toolkit/http/route"
import { staticSite } from "@superstep/toolkit/http/static-site"

interface StudioOptions {
  /** The folder with the files of the console. */
  readonly folder: string
  readonly version: string
  /** The prefix under which the server is mounted: empty, or `/path`. */
  readonly mountPrefix: string
}

export function addStudio(app: Api, { folder, version, mountPrefix }: StudioOptions): void {
  const site = staticSite({ folder, base: `${mountPrefix}/studio/` })
  app.get("/studio/console.json", (c) => c.json({ home: "agent", version }, 200, { "cache-control": "no-cache" }))
  app.get("/studio/assets/:name", async (c) => {
    const asset = await site.asset(c, c.req.param("name"))
    if (!asset) throw new NotFound("the console has no such file: reload the page")
    return asset
  })
  // Which page an address shows, the page decides itself.
  for (const path of ["/studio", "/studio/*"]) app.get(path, (c) => site.page(c))
}
