/**
 * The CORS answers for web pages of other origins (agent-server-api §13.3). Agent server and edge share this code, since both
 * must answer the same.
 */
import { Hono, type MiddlewareHandler } from "hono"
import { cors } from "hono/cors"
import { replyHeaders } from "./reply-headers.js"

/** Everything that determines the answer to a preflight, as data, with the limits of the table of the edges (protocol/edge). */
export interface PreflightRule {
  /** Pages of these origins may call; null: of all origins, and the answer names none. */
  readonly origins: readonly string[] | null
  readonly methods: readonly string[]
  /** Empty: those that the page requests. */
  readonly headers: readonly string[]
  /** Headers of a reply that a page may read. */
  readonly exposed: readonly string[]
  /** Whether a page may send cookies. */
  readonly credentials: boolean
  /** How long a browser may cache the answer; null: the browser's default. */
  readonly max_age_seconds: number | null
}

/** The default rule for all pages. */
export const openToAll: PreflightRule = {
  origins: null,
  methods: ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"],
  headers: [],
  // The headers that the browser SDKs read (agent-server-api §1.5).
  exposed: ["content-location", "location", "x-pagination-total", "x-pagination-next", "x-request-id"],
  credentials: false,
  max_age_seconds: null,
}

/**
 * Answers preflights, and sets the headers by which browsers let a page read a reply.
 * @param mayCall  whether a page of this origin may call, where a list of origins is not enough
 */
export function crossOrigin(rule: PreflightRule, mayCall = callersOf(rule)): MiddlewareHandler {
  const answer = cors({
    origin: rule.origins === null ? "*" : (origin) => (mayCall(origin) ? origin : null),
    allowMethods: [...rule.methods],
    allowHeaders: [...rule.headers],
    exposeHeaders: [...rule.exposed],
    credentials: rule.credentials,
    ...(rule.max_age_seconds !== null && { maxAge: rule.max_age_seconds }),
  })
  const forPages = {
    ...(rule.credentials && { "access-control-allow-credentials": "true" }),
    ...(rule.exposed.length > 0 && { "access-control-expose-headers": rule.exposed.join(",") }),
    ...(rule.origins === null ? { "access-control-allow-origin": "*" } : { vary: "Origin" }),
  }
  return async (c, next) => {
    if (c.req.method !== "OPTIONS") {
      const origin = c.req.header("origin") ?? ""
      Object.assign(
        replyHeaders(c),
        forPages,
        rule.origins !== null && mayCall(origin) && { "access-control-allow-origin": origin },
      )
      return next()
    }
    // Chrome asks before a public page may call this machine: Studio does (protocol-v2 §2.5).
    const asksForNetwork = c.req.header("access-control-request-private-network")
    if (asksForNetwork === "true" && mayCall(c.req.header("origin") ?? "")) {
      c.header("access-control-allow-private-network", "true")
    }
    return answer(c, next)
  }
}

const callersOf =
  ({ origins }: PreflightRule) =>
  (origin: string): boolean =>
    origins === null || origins.includes(origin)

/**
 * The answer to a preflight: 204 with these headers.
 * @param asked  the preflight's own headers, by lower-case name
 */
export async function preflightHeaders(
  rule: PreflightRule,
  asked: Readonly<Record<string, string | undefined>>,
): Promise<Record<string, string>> {
  const names = ["origin", "access-control-request-headers", "access-control-request-private-network"]
  const headers = names.flatMap((name) => (asked[name] === undefined ? [] : [[name, asked[name]] as [string, string]]))
  const reply = await new Hono().use(crossOrigin(rule)).request("/", { method: "OPTIONS", headers })
  return Object.fromEntries(reply.headers)
}
