/**
 * Values exactly as LangGraph's serialiser writes them, for the usual kinds: plain JSON and LangChain's messages. The serialiser
 * itself walks each value twice, calls a function for each field, and calls the costly `toJSON` of each message: this takes
 * three times as long for a list of messages (bench/measurements.md).
 */
import { givenFields, isMessage, type Message } from "./message-fields.js"

// Deeper than any real state, and reached quickly in a cycle.
const maxLevels = 64

const undefinedText = '{"lc":2,"type":"undefined"}'

/** @returns undefined for a value that only the serialiser itself can write */
export const savedText = (value: unknown): string | undefined => textOf(value, 0)

function textOf(value: unknown, level: number): string | undefined {
  if (value === undefined) return undefinedText
  if (isPlain(value, level)) return JSON.stringify(value)
  if (level > maxLevels || typeof value !== "object" || value === null) return undefined
  if (Array.isArray(value)) return listText(value, level)
  if (isMessage(value)) return messageText(value, level)
  return isPlainObject(value) ? fieldsText(value, level) : undefined
}

function listText(list: readonly unknown[], level: number): string | undefined {
  if ("toJSON" in list) return undefined
  const texts: string[] = []
  for (const each of list) {
    const text = textOf(each, level + 1)
    if (text === undefined) return undefined
    texts.push(text)
  }
  return `[${texts.join(",")}]`
}

function fieldsText(fields: object, level: number): string | undefined {
  const texts: string[] = []
  for (const [key, value] of Object.entries(fields)) {
    const text = textOf(value, level + 1)
    if (text === undefined) return undefined
    texts.push(`${JSON.stringify(key)}:${text}`)
  }
  return `{${texts.join(",")}}`
}

/** Leaves a message to the serialiser if a field contains another message, or LangChain would mark it (`escapeIfNeeded`). */
function messageText(message: Message, level: number): string | undefined {
  const { lc_id: id, lc_kwargs: given } = message
  const fields =
    Array.isArray(id) && id[0] === "langchain_core" && !Array.isArray(given) ? givenFields(message) : undefined
  if (fields === undefined) return undefined
  let isComplete = true
  for (const key in fields) {
    const field = fields[key]
    if (field === undefined) isComplete = false
    else if (key === "lc" || !isPlain(field, level + 1, true)) return undefined
  }
  const kwargs = isComplete ? JSON.stringify(fields) : fieldsText(fields, level)
  return `{"lc":1,"type":"constructor","id":${JSON.stringify(id)},"kwargs":${kwargs}}`
}

/**
 * Whether `JSON.stringify` alone gives the serialiser's text.
 * @param ofMessage  whether the value belongs to a message: there LangChain marks values that look like its own objects
 */
function isPlain(value: unknown, level: number, ofMessage = false): boolean {
  if (typeof value !== "object")
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
  if (value === null) return true
  if (level > maxLevels) return false
  if (Array.isArray(value)) {
    if ("toJSON" in value) return false
    // Not `every`, which skips holes.
    for (const each of value) if (!isPlain(each, level + 1, ofMessage)) return false
    return true
  }
  if (!isPlainObject(value) || (ofMessage && ("lc" in value || "__lc_escaped__" in value))) return false
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key], level + 1, ofMessage)) return false
  return true
}

/** LangGraph writes a plain object with `lg_name` (a `Send`) differently. */
const isPlainObject = (value: object): boolean =>
  Object.getPrototypeOf(value) === Object.prototype && !("toJSON" in value) && !("lg_name" in value)
