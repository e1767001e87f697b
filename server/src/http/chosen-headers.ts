/** Selects request headers by the name or glob patterns of a project (agent-server-api §13.4). Pure. */
import { z } from "zod"

const patterns = z.array(z.string()).nullish()

/** `http.configurable_headers` and `http.logging_headers`; `include` and `exclude` are older names. */
export const headerRule = z.looseObject({
  includes: patterns,
  excludes: patterns,
  include: patterns,
  exclude: patterns,
})

export type HeaderRule = z.output<typeof headerRule>

// Credentials of users or of the platform. They are selected only by their full name, never by a glob such as `*`.
const credentials = new Set(["authorization", "proxy-authorization", "cookie", "x-api-key", "x-service-key"])

/**
 * Compiles a rule to a function that selects headers. Excludes win, and a header that no include matches is not selected.
 * @returns undefined when the rule selects nothing
 */
export function headerChoice(rule: HeaderRule | undefined): ((headers: Headers) => Record<string, string>) | undefined {
  const includes = [...(rule?.includes ?? []), ...(rule?.include ?? [])].map((name) => name.toLowerCase())
  const excludes = [...(rule?.excludes ?? []), ...(rule?.exclude ?? [])].map((name) => toPattern(name.toLowerCase()))
  if (includes.length === 0) return undefined
  const globs = includes.map(toPattern)
  const isChosen = (name: string): boolean => {
    if (excludes.some((pattern) => pattern.test(name))) return false
    return credentials.has(name) ? includes.includes(name) : globs.some((pattern) => pattern.test(name))
  }
  return (headers) => Object.fromEntries([...headers].filter(([name]) => isChosen(name)))
}

/** `x-user-*` as a regular expression; header names are compared in lower case. */
const toPattern = (glob: string): RegExp =>
  new RegExp(
    `^${glob
      .replace(/[.+^${}()|[\]\\]/g, "\\$&")
      .replaceAll("*", ".*")
      .replaceAll("?", ".")}$`,
  )
