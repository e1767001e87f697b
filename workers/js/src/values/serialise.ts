/**
 * Values of a graph as one line of JSON in the wire's form (agent-server API §2.11, §2.12): messages flat with their `type`,
 * errors as `{error, message}`, sets as lists, bytes as base64, bigints as text, NaN as null.
 */
import { describeError, isError } from "../errors/describe-error.js"
import { isMessage, messageFields } from "./message-fields.js"

/**
 * One pass over the value. Never throws: a cycle becomes `[Circular]`, a value whose own serialisation fails becomes
 * `[Unserialisable: why]`. `undefined` becomes `null`.
 */
export function serialise(value: unknown): string {
  try {
    return textOf(value, 0) ?? "null"
  } catch {
    // Cycles and throwing getters are rare, so only they need the slower walk.
  }
  try {
    return JSON.stringify(plain(value, [])) ?? "null"
  } catch (error) {
    // Such as a `toJSON` that is left in the plain form.
    return JSON.stringify(unserialisable(error))
  }
}

// Deeper than any real state, and reached quickly in a cycle.
const maxLevels = 64

/**
 * JSON text; undefined for values that JSON leaves out. Nearly all values that a graph streams are plain, and `JSON.stringify`
 * is three times as fast without a replacer function. Messages are converted here, since it would first call their costly
 * `toJSON`. With this a worker streams 1.25 times as many tokens (bench/measurements.md).
 */
function textOf(value: unknown, level: number): string | undefined {
  if (isPlain(value, level)) return JSON.stringify(value)
  if (level > maxLevels || typeof value !== "object" || value === null) return JSON.stringify(value, replace)
  if (isMessage(value)) return textOf(messageFields(value), level + 1)
  if (Array.isArray(value)) return `[${Array.from(value, (each) => textOf(each, level + 1) ?? "null").join(",")}]`
  if (Object.getPrototypeOf(value) !== Object.prototype || "toJSON" in value) return JSON.stringify(value, replace)
  const fields = Object.entries(value).flatMap(([key, field]) => {
    const text = textOf(field, level + 1)
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`]
  })
  return `{${fields.join(",")}}`
}

/** Whether `JSON.stringify` alone gives a value's form on the wire. */
function isPlain(value: unknown, level: number): boolean {
  if (typeof value !== "object") return typeof value !== "bigint"
  if (value === null) return true
  if (level > maxLevels) return false
  if (Array.isArray(value)) return !("toJSON" in value) && value.every((each) => isPlain(each, level + 1))
  if (Object.getPrototypeOf(value) !== Object.prototype || "toJSON" in value) return false
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key], level + 1)) return false
  return true
}

/** `JSON.stringify` passes the result of `toJSON`; `this[key]` is the value itself. */
function replace(this: unknown, key: string, value: unknown): unknown {
  const original: unknown = typeof this === "object" && this !== null ? Reflect.get(this, key) : value
  return wireForm(original, value)
}

function wireForm(original: unknown, otherwise: unknown): unknown {
  if (typeof original === "bigint") return original.toString()
  if (typeof original !== "object" || original === null) return otherwise
  if (isMessage(original)) return messageFields(original)
  if (original instanceof Map) return mapForm(original)
  if (original instanceof Set) return [...original]
  if (original instanceof Uint8Array) return Buffer.from(original).toString("base64")
  if (isError(original)) return describeError(original)
  return otherwise
}

function mapForm(map: ReadonlyMap<unknown, unknown>): unknown {
  const hasTextKeys = [...map.keys()].every((key) => typeof key === "string")
  return hasTextKeys ? Object.fromEntries(map) : [...map]
}

/** The same forms, made step by step, with a replacement for each value that JSON does not support. */
function plain(value: unknown, ancestors: readonly unknown[]): unknown {
  if (ancestors.includes(value)) return "[Circular]"
  try {
    const form = wireForm(value, jsonForm(value))
    if (typeof form !== "object" || form === null) return form
    const line = [...ancestors, value]
    if (Array.isArray(form)) return form.map((each) => plain(each, line))
    return Object.fromEntries(Object.keys(form).map((key) => [key, plain(Reflect.get(form, key), line)]))
  } catch (error) {
    return unserialisable(error)
  }
}

const unserialisable = (error: unknown): string => `[Unserialisable: ${describeError(error).message}]`

function jsonForm(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("toJSON" in value)) return value
  return typeof value.toJSON === "function" ? value.toJSON() : value
}
