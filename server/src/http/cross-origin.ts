/** CORS headers (agent-server-api §13.3), from the project's settings. */
import { crossOrigin as crossOriginBy, openToAll, type PreflightRule } from "@superstep/toolkit/http/cross-origin"
import type { MiddlewareHandler } from "hono"
import { mayCall, type OriginRule } from "./access.js"

export interface CrossOrigin {
  /** The origins whose pages may send requests. */
  readonly origins: OriginRule
  readonly methods: readonly string[] | undefined
  readonly headers: readonly string[] | undefined
  readonly exposed: readonly string[]
  readonly credentials: boolean
  readonly maxAgeSeconds: number | undefined
}

/** Whether every page may send requests. Then replies name no origin and never allow cookies. */
const allowsAll = ({ isDev, allowed, pattern }: OriginRule): boolean =>
  !isDev && pattern === undefined && (allowed === undefined || allowed.includes("*"))

function ruleOf({ origins, ...rule }: CrossOrigin): PreflightRule {
  const isForAll = allowsAll(origins)
  const methods = rule.methods?.includes("*") ? undefined : rule.methods
  return {
    origins: isForAll ? null : [...(origins.allowed ?? [])],
    methods: [...(methods ?? openToAll.methods)],
    // An empty list allows all requested headers, which is also the meaning of `*`.
    headers: rule.headers?.includes("*") ? [] : [...(rule.headers ?? [])],
    exposed: [...new Set([...openToAll.exposed, ...rule.exposed.map((name) => name.toLowerCase())])],
    // In development, replies name each page's origin also for `*`. That must not allow cookies (§13.3).
    credentials: rule.credentials && !isForAll && !origins.allowed?.includes("*"),
    max_age_seconds: rule.maxAgeSeconds ?? null,
  }
}

/** Answers preflights, and adds the CORS headers to replies. */
export const crossOrigin = (settings: CrossOrigin): MiddlewareHandler =>
  crossOriginBy(ruleOf(settings), (origin) => mayCall(settings.origins, origin))

/**
 * The rule by which the edge answers preflights in place of this server.
 * @returns null where a regular expression decides: only this server evaluates the project's patterns
 */
export const preflightRuleOf = (settings: CrossOrigin): PreflightRule | null =>
  settings.origins.pattern || settings.origins.isDev ? null : ruleOf(settings)
