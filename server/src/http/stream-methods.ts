import type { MiddlewareHandler } from "hono"

// GET routes whose reply lasts as long as a run or longer.
const lasting = /\/(stream|stream\/events|join|mcp)$/

/**
 * Rejects HEAD requests for streams. Hono would call the handler of GET, whose subscription would last as long as the run
 * although the client reads nothing.
 */
export const refuseHeadOfStreams: MiddlewareHandler = async (c, next) => {
  if (c.req.method !== "HEAD" || !lasting.test(c.req.path)) return next()
  return c.body(null, 405, { allow: "GET, POST" })
}
