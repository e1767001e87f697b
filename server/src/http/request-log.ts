/** One line a request, for who asked for it: by the log's level, or by naming headers that it should show. */
import type { ServerResponse } from "node:http"
import type { Log } from "@superstep/toolkit/log/log"
import type { MiddlewareHandler } from "hono"

/**
 * @param headersOf  `http.logging_headers`; with it the line is at level info, since who names headers wants to see them
 * @returns undefined when nobody would see the line
 */
export function logRequests(
  log: Log,
  headersOf: ((headers: Headers) => Record<string, string>) | undefined,
): MiddlewareHandler | undefined {
  const level = headersOf ? "info" : "debug"
  if (!log.isLevelEnabled(level)) return undefined
  return async (c, next) => {
    const startedAt = performance.now()
    await next()
    const { outgoing } = (c.env ?? {}) as { outgoing?: ServerResponse }
    const line = {
      request_id: c.res.headers.get("x-request-id") ?? undefined,
      method: c.req.method,
      path: c.req.path,
      // A stream writes its head by itself.
      status: outgoing?.headersSent ? outgoing.statusCode : c.res.status,
      duration_ms: Math.round(performance.now() - startedAt),
      ...(headersOf && { headers: headersOf(c.req.raw.headers) }),
    }
    log[level](line, "request")
  }
}
