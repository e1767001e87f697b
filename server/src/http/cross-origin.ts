/** What web pages of other origins are told (agent-server-api §13.3). */
import type { MiddlewareHandler } from "hono"
import { cors } from "hono/cors"
import { mayCall, type OriginRule } from "./access.js"

export interface CrossOrigin {
  /** Which pages may call. */
  readonly origins: OriginRule
  readonly methods: readonly string[] | undefined
  readonly headers: readonly string[] | undefined
  readonly exposed: readonly string[]
  readonly credentials: boolean
  readonly maxAgeSeconds: number | undefined
}

const usualMethods = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"]

// What the browser SDKs read of a reply (agent-server-api §1.5).
const alwaysExposed = ["content-location", "location", "x-pagination-total", "x-pagination-next", "x-request-id"]

/** Every page may call: then no origin is named in replies, and none may use a person's cookies. */
const allowsAll = ({ isDev, allowed, pattern }: OriginRule): boolean =>
  !isDev && pattern === undefined && (allowed === undefined || allowed.includes("*"))

/** Answers preflights, and tells browsers which replies a page may read. */
export function crossOrigin({ origins, ...rule }: CrossOrigin): MiddlewareHandler {
  const isForAll = allowsAll(origins)
  // `*` as a header is "whatever you ask for", which is also what an empty list means to Hono.
  const headers = rule.headers?.includes("*") ? [] : (rule.headers ?? [])
  const methods = rule.methods?.includes("*") ? usualMethods : (rule.methods ?? usualMethods)
  const answer = cors({
    origin: isForAll ? "*" : (origin) => (mayCall(origins, origin) ? origin : null),
    allowMethods: [...methods],
    allowHeaders: [...headers],
    exposeHeaders: [...new Set([...alwaysExposed, ...rule.exposed.map((name) => name.toLowerCase())])],
    // In development `*` names each page in its reply, which must not make it one that may use cookies (§13.3).
    credentials: rule.credentials && !isForAll && !origins.allowed?.includes("*"),
    ...(rule.maxAgeSeconds !== undefined && { maxAge: rule.maxAgeSeconds }),
  })
  return async (c, next) => {
    // Chrome asks before a public page may talk to this machine: Studio does (protocol-v2 §2.5).
    const asksForNetwork = c.req.method === "OPTIONS" && c.req.header("access-control-request-private-network")
    if (asksForNetwork === "true" && mayCall(origins, c.req.header("origin") ?? "")) {
      c.header("access-control-allow-private-network", "true")
    }
    return answer(c, next)
  }
}
