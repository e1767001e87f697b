/** Gives each request a name that its reply and its log lines carry. */
import { randomUUID } from "node:crypto"
import type { MiddlewareHandler } from "hono"

// What other people send goes into headers and logs only when it is short and plain.
const sane = /^[\w.:-]{1,128}$/

export const requestId: MiddlewareHandler = async (c, next) => {
  const inbound = c.req.header("x-request-id")
  const id = inbound !== undefined && sane.test(inbound) ? inbound : randomUUID()
  // Before, for the error handler; and after, since a handler's own Response replaces what was set before.
  c.header("x-request-id", id)
  await next()
  c.header("x-request-id", id)
}
