/** Selects request headers by the name or glob patterns of a project (agent-server-api §13.4). Pure. */
import type { HeaderRule } from "../project/langgraph-json.js"

// Credentials of users or of the platform. They are selected only by their full name, never by a glob such as `*`.
const credentials = new Set(["authorization", "proxy-authorization", "cookie", "x-api-key", "x-service-key"])

/**
 * Compiles a rule to a function that selects headers. Excludes win, and a header that no include matches is not selected.
 * @returns undefined when the rule selects nothing
 */
export function headerChoice(rule: HeaderRule | undefined): ((headers: Headers) => Record<string, string>) | undefined {
  const includes = [...(rule?.includes ?? []), ...(rule?.include ?? [])].map((name) => name.toLowerCase())
  const excludes = [...(rule?.excludes ?? []), ...(rule?.exclude ?? [])].map((name) => name.toLowerCase())
  if (includes.length === 0) return undefined
  const isChosen = (name: string): boolean => {
    if (excludes.some((glob) => matches(glob, name))) return false
    return credentials.has(name) ? includes.includes(name) : includes.some((glob) => matches(glob, name))
  }
  return (headers) => Object.fromEntries([...headers].filter(([name]) => isChosen(name)))
}

/**
 * Whether a glob, such as `x-user-*` or `x-??`, matches the whole name. Both are in lower case. A regular expression with several `.*`
 * would try all ways to split a long name; here a star that has let go a character never takes it back.
 */
function matches(glob: string, name: string): boolean {
  let [inGlob, inName, star, taken] = [0, 0, -1, 0]
  while (inName < name.length) {
    const sign = glob[inGlob]
    if (sign === "*") {
      star = inGlob++
      taken = inName
    } else if (sign === "?" || sign === name[inName]) {
      inGlob++
      inName++
    } else {
      if (star === -1) return false
      // The last star takes one character more.
      inGlob = star + 1
      inName = ++taken
    }
  }
  while (glob[inGlob] === "*") inGlob++
  return inGlob === glob.length
}
