/** Logs one line per request, at level debug, or when the project selects headers for the log. */

import { statusOf } from "@superstep/toolkit/http/reply-headers"
import type { Log } from "@superstep/toolkit/log/log"
import type { MiddlewareHandler } from "hono"

/**
 * @param headersOf  selects the headers of `http.logging_headers`. If set, lines have level info
 * @returns undefined when the log does not show the line's level
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
    const line = {
      request_id: c.get("requestId"),
      method: c.req.method,
      path: c.req.path,
      status: statusOf(c),
      duration_ms: Math.round(performance.now() - startedAt),
      ...(headersOf && { headers: headersOf(c.req.raw.headers) }),
    }
    log[level](line, "request")
  }
}
