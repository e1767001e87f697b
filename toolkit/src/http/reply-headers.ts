/** The headers of every reply, and the id by which replies and log lines name a request. */
import { randomUUID } from "node:crypto"
import type { ServerResponse } from "node:http"
import type { Context, MiddlewareHandler } from "hono"

declare module "hono" {
  interface ContextVariableMap {
    requestId: string
    /** By lower-case name. Routes that write a head themselves send these; all other replies get them when they are there. */
    replyHeaders: Record<string, string>
  }
}

// Ids from callers are used in headers and logs only when they are short and plain.
const plain = /^[\w.:-]{1,128}$/

/**
 * Gives each request an id, and its reply these headers and those that are added to `replyHeaders`. They are set on the reply that a route
 * has made: a header that is set before makes Hono copy each reply through a web stream, a seventh of a server's time for a small one.
 */
export const identifyReplies =
  (headers: Readonly<Record<string, string>> = {}): MiddlewareHandler =>
  async (c, next) => {
    const asked = c.req.header("x-request-id")
    const requestId = asked !== undefined && plain.test(asked) ? asked : randomUUID()
    c.set("requestId", requestId)
    c.set("replyHeaders", { "x-request-id": requestId, ...headers })
    await next()
    if (sentHead(c)) return
    try {
      addHeaders(c.res.headers, replyHeaders(c))
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      // The headers of a redirect, or of a reply that was fetched, cannot be changed.
      c.res = new Response(c.res.body, c.res)
      addHeaders(c.res.headers, replyHeaders(c))
    }
  }

function addHeaders(to: Headers, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const given = name === "vary" ? (to.get(name) ?? "") : ""
    if (given === "") to.set(name, value)
    else if (!given.toLowerCase().includes(value.toLowerCase())) to.append(name, value)
  }
}

/** None where a program does not identify its replies. */
export const replyHeaders = (c: Context): Record<string, string> => c.get("replyHeaders") ?? {}

/** The status of a reply; that of a stream is in the head that its route has written to the socket. */
export const statusOf = (c: Context): number => sentHead(c)?.statusCode ?? c.res.status

function sentHead(c: Context): ServerResponse | undefined {
  const { outgoing } = (c.env ?? {}) as { readonly outgoing?: ServerResponse }
  return outgoing?.headersSent ? outgoing : undefined
}
