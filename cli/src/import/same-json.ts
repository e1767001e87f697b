/** Whether two JSON values say the same. Pure. */
import { toJsonText } from "@superstep/toolkit/http/json"

/**
 * The order of keys does not matter. In a message, a field that says nothing may be missing: which of them are printed differs between
 * releases of LangChain.
 */
export const sameJson = (one: unknown, other: unknown): boolean => textOf(one) === textOf(other)

const textOf = (value: unknown): string => toJsonText(ordered(value))

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const isMessage = "content" in value && "type" in value
  const entries = Object.entries(value).map(([key, each]) => [key, ordered(each)] as const)
  const said = isMessage ? entries.filter(([, each]) => !saysNothing(each)) : entries
  // A list of pairs in an object of ours: a key may be `__proto__`, and a list is no object.
  return { pairs: said.sort(([a], [b]) => (a < b ? -1 : 1)) }
}

const saysNothing = (value: unknown): boolean =>
  value === null || value === undefined || value === false || (Array.isArray(value) && value.length === 0)
