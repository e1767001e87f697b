/**
 * JSON in which LangGraph's serialiser takes plain data for objects to make. Clients may send any JSON, also such that looks like its records
 * or LangChain's, and a project may have classes of its own that it can write and not make. A thread must stay readable with all of them.
 */
import { randomUUID } from "node:crypto"
import type { Serde } from "../loading/langgraph.js"

// LangChain marks plain data in the fields of its objects. The serialiser makes what is below the mark before LangChain looks at it.
const escaped = "__lc_escaped__"

type Fields = Record<string, unknown>

/**
 * Reads JSON by the serialiser. A record of which it can make nothing stays plain data.
 * @throws Error  of the serialiser, if the text cannot be read even so
 */
export async function readBySerialiser(serde: Serde, text: string): Promise<unknown> {
  if (!text.includes(escaped)) {
    const read = await serde.loadsTyped("json", text).then(
      (value) => ({ value }),
      () => undefined,
    )
    if (read) return read.value
  }
  // No client knows it.
  const mark = randomUUID()
  const inert: unknown[] = []
  const setAside = (value: unknown): Fields => ({ [mark]: inert.push(value) - 1 })
  // The innermost first, as the serialiser does.
  const withMarks = async (value: unknown, isInObject: boolean): Promise<unknown> => {
    if (typeof value !== "object" || value === null) return value
    const fields = value as Fields
    const keys = Object.keys(fields)
    if (isInObject && keys.length === 1 && keys[0] === escaped) return setAside(fields[escaped])
    const isObject = fields.lc === 1
    for (const key of keys) setOwn(fields, key, await withMarks(fields[key], isInObject || isObject))
    if (!isObject) return fields
    return serde.loadsTyped("json", JSON.stringify(fields)).then(
      () => fields,
      () => setAside(fields),
    )
  }
  const marked = await withMarks(JSON.parse(text), false)
  const seen = new Set<unknown>()
  const restored = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null || seen.has(value)) return value
    const fields = value as Fields
    const place = fields[mark]
    if (typeof place === "number") return restored(inert[place])
    seen.add(value)
    if (value instanceof Map || value instanceof Set) {
      const items = [...value].map(restored)
      value.clear()
      for (const item of items) value instanceof Map ? value.set(...(item as [unknown, unknown])) : value.add(item)
    }
    for (const key of Object.keys(fields)) {
      const field = restored(fields[key])
      if (field !== fields[key]) setOwn(fields, key, field)
    }
    return fields
  }
  return restored(await serde.loadsTyped("json", JSON.stringify(marked)))
}

/** Unlike an assignment also for the key `__proto__`. */
const setOwn = (fields: object, key: string, value: unknown): void => {
  Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true })
}
