/** Gives each request an id for its reply and its log lines. */
import { randomUUID } from "node:crypto"
import type { MiddlewareHandler } from "hono"

// Ids from callers are used in headers and logs only when they are short and plain.
const sane = /^[\w.:-]{1,128}$/

export const requestId: MiddlewareHandler = async (c, next) => {
  const inbound = c.req.header("x-request-id")
  const id = inbound !== undefined && sane.test(inbound) ? inbound : randomUUID()
  // Before the handler, for the error handler; and after, since a handler's own Response replaces earlier headers.
  c.header("x-request-id", id)
  await next()
  c.header("x-request-id", id)
}
