import type { MiddlewareHandler } from "hono"

// GETs that last as long as a run, or longer.
const lasting = /\/(stream|stream\/events|join|mcp)$/

/**
 * Refuses HEAD on streams. A HEAD is answered by the handler of GET, which would subscribe somebody who reads nothing,
 * for as long as the run lasts.
 */
export const refuseHeadOfStreams: MiddlewareHandler = async (c, next) => {
  if (c.req.method !== "HEAD" || !lasting.test(c.req.path)) return next()
  return c.body(null, 405, { allow: "GET, POST" })
}
