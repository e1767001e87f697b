/** Which headers of a request a project chose, by name or glob (agent-server-api §13.4). Pure. */
import { z } from "zod"

const patterns = z.array(z.string()).nullish()

/** `http.configurable_headers` and `http.logging_headers`; `include` and `exclude` are the older spelling. */
export const headerRule = z.looseObject({
  includes: patterns,
  excludes: patterns,
  include: patterns,
  exclude: patterns,
})

export type HeaderRule = z.output<typeof headerRule>

// A person's or the platform's credential is taken only by who names it: `*` is not meant to be that.
const credentials = new Set(["authorization", "proxy-authorization", "cookie", "x-api-key", "x-service-key"])

/**
 * Makes the choice that a rule describes; excludes win, and what no include names is not taken.
 * @returns undefined when nothing is chosen
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

/** `x-user-*` as a regular expression; names of headers are compared in lower case. */
const toPattern = (glob: string): RegExp =>
  new RegExp(
    `^${glob
      .replace(/[.+^${}()|[\]\\]/g, "\\$&")
      .replaceAll("*", ".*")
      .replaceAll("?", ".")}$`,
  )
