import type { MiddlewareHandler } from "hono"

/**
 * Refuses HEAD on streams. A HEAD is answered by the handler of GET, which would subscribe somebody who reads nothing,
 * for as long as the run lasts.
 */
export const refuseHeadOfStreams: MiddlewareHandler = async (c, next) => {
  if (c.req.method !== "HEAD" || !c.req.path.endsWith("/stream")) return next()
  return c.body(null, 405, { allow: "GET, POST" })
}
