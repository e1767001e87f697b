/** What web pages of other origins are told (agent-server-api §13.3), by what the project says. */
import { openToAll, type PreflightRule, crossOrigin as toldBy } from "@superstep/toolkit/http/cross-origin"
import type { MiddlewareHandler } from "hono"
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

/** Every page may call: then no origin is named in replies, and none may use a person's cookies. */
const allowsAll = ({ isDev, allowed, pattern }: OriginRule): boolean =>
  !isDev && pattern === undefined && (allowed === undefined || allowed.includes("*"))

function ruleOf({ origins, ...rule }: CrossOrigin): PreflightRule {
  const isForAll = allowsAll(origins)
  const methods = rule.methods?.includes("*") ? undefined : rule.methods
  return {
    origins: isForAll ? null : [...(origins.allowed ?? [])],
    methods: [...(methods ?? openToAll.methods)],
    // `*` as a header is "whatever you ask for", which is also what an empty list means.
    headers: rule.headers?.includes("*") ? [] : [...(rule.headers ?? [])],
    exposed: [...new Set([...openToAll.exposed, ...rule.exposed.map((name) => name.toLowerCase())])],
    // In development `*` names each page in its reply, which must not make it one that may use cookies (§13.3).
    credentials: rule.credentials && !isForAll && !origins.allowed?.includes("*"),
    max_age_seconds: rule.maxAgeSeconds ?? null,
  }
}

/** Answers preflights, and tells browsers which replies a page may read. */
export const crossOrigin = (settings: CrossOrigin): MiddlewareHandler =>
  toldBy(ruleOf(settings), (origin) => mayCall(settings.origins, origin))

/**
 * What the edge answers preflights by in this server's place.
 * @returns null where a pattern decides: it is the project's own program, which runs nowhere else
 */
export const toldCrossOrigin = (settings: CrossOrigin): PreflightRule | null =>
  settings.origins.pattern || settings.origins.isDev ? null : ruleOf(settings)
