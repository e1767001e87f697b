/** Whether two JSON values say the same. Pure. */
import { isExactNumber } from "@superstep/toolkit/http/exact-number"

type Json = Readonly<Record<string, unknown>>

/**
 * The order of keys does not matter. In a message, a field that says nothing may be missing: which of them are printed differs between
 * releases of LangChain.
 */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (isExactNumber(one)) return isExactNumber(other) && one.text === other.text
  if (Array.isArray(one))
    return Array.isArray(other) && one.length === other.length && one.every((item, n) => sameJson(item, other[n]))
  if (!isObject(one) || !isObject(other)) return false
  const keys = keysOf(one)
  return (
    keys.length === keysOf(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && sameJson(one[key], other[key]))
  )
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isExactNumber(value)

function keysOf(object: Json): string[] {
  const isMessage = "content" in object && "type" in object
  const keys = Object.keys(object)
  return isMessage ? keys.filter((key) => !saysNothing(object[key])) : keys
}

const saysNothing = (value: unknown): boolean =>
  value === null || value === undefined || value === false || (Array.isArray(value) && value.length === 0)
