/**
 * Reads the JSON that LangGraph's serialiser wrote. The serialiser itself makes a promise for each field of a value, and
 * serialises and parses each message once more: this takes ten times as long for a list of messages (bench/measurements.md).
 * Here plain JSON is only parsed, and messages are made by their classes; the serialiser reads any other value.
 */
import type { Serde } from "../loading/langgraph.js"
import { readBySerialiser } from "./inert-records.js"
import { savedText } from "./saved-text.js"

/** How LangChain's `load` makes messages of one class. */
interface Maker {
  readonly make: new (fields: object) => object
  /** Maps names of fields in JSON to those in code, for names that do not follow the rule. */
  readonly names: ReadonlyMap<string, string>
}

/** By the id of the class; undefined for a class whose messages only the serialiser can make. */
type Makers = Map<string, Maker | undefined>

/** By the class of a serialiser: each copy of LangGraph has its own message classes. */
const makersOf = new WeakMap<object, Makers>()

type Fields = Record<string, unknown>

/** Thrown when only the serialiser can read a value. */
class NeedsSerialiser extends Error {
  /** @param record  a message of a class that was not seen before */
  constructor(readonly record?: Fields) {
    super("this value is for LangGraph's serialiser")
  }
}

/** @param text  JSON as `serde.dumpsTyped` writes it, of this or another version */
export async function savedValue(serde: Serde, text: string): Promise<unknown> {
  const makers = makersOf.get(serde.constructor) ?? new Map()
  makersOf.set(serde.constructor, makers)
  for (;;) {
    try {
      return revived(JSON.parse(text), makers)
    } catch (error) {
      if (!(error instanceof NeedsSerialiser)) throw error
      if (error.record === undefined) return await readBySerialiser(serde, text)
      const maker = await makerOf(serde, error.record).catch(() => "unknown" as const)
      if (maker === "unknown") return await readBySerialiser(serde, text)
      makers.set(idOf(error.record), maker)
    }
  }
}

const isMessageRecord = (value: object): value is Fields => {
  const { lc, type, id } = value as Fields
  return lc === 1 && type === "constructor" && Array.isArray(id) && id[0] === "langchain_core" && id[1] === "messages"
}

const idOf = ({ id }: Fields): string => String(id)

/** Learns a class from one message that the serialiser makes. */
async function makerOf(serde: Serde, record: Fields): Promise<Maker | undefined> {
  const text = JSON.stringify(record)
  const message: unknown = await serde.loadsTyped("json", text)
  if (typeof message !== "object" || message === null) return undefined
  const maker = { make: message.constructor as Maker["make"], names: namesOf(message) }
  try {
    const again = made(JSON.parse(text), maker)
    const written = savedText(message)
    return written !== undefined && savedText(again) === written ? maker : undefined
  } catch {
    return undefined
  }
}

/** The names of fields in JSON by the class and its ancestors, as `load` finds them. */
function namesOf(message: object): Map<string, string> {
  const names = new Map<string, string>()
  for (let each: object | null = Object.getPrototypeOf(message); each !== null; each = Object.getPrototypeOf(each)) {
    for (const [key, name] of Object.entries((each as Fields).lc_aliases ?? {})) names.set(String(name), key)
  }
  return names
}

/** @throws NeedsSerialiser */
function revived(value: unknown, makers: Makers): unknown {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) value[index] = revived(value[index], makers)
    return value
  }
  const fields = value as Fields
  if (Object.hasOwn(fields, "lc")) return revivedRecord(fields, makers)
  for (const key in fields) {
    const value = revived(fields[key], makers)
    // The serialiser would lose a user's key of this name: its assignment sets the prototype.
    if (key === "__proto__") Object.defineProperty(fields, key, { value })
    else fields[key] = value
  }
  return fields
}

function revivedRecord(record: Fields, makers: Makers): unknown {
  if (record.lc === 2 && record.type === "undefined") return undefined
  if (!isMessageRecord(record)) throw new NeedsSerialiser()
  const id = idOf(record)
  const maker = makers.get(id)
  if (maker === undefined) throw new NeedsSerialiser(makers.has(id) ? undefined : record)
  return made(record, maker)
}

function made({ kwargs }: Fields, { make, names }: Maker): object {
  if (typeof kwargs !== "object" || kwargs === null || Array.isArray(kwargs)) throw new NeedsSerialiser()
  const fields: Fields = {}
  for (const [key, value] of Object.entries(kwargs)) {
    const name = names.get(key) ?? camelCase(key)
    if (isUndefined(value)) continue
    if (!isPlain(value)) throw new NeedsSerialiser()
    fields[name] = value
  }
  return new make(fields)
}

/** Converts names without an alias like `load`, if the conversion is certain. @throws NeedsSerialiser */
function camelCase(key: string): string {
  if (/^[A-Za-z0-9]+$/.test(key)) return key
  if (!/^[a-z0-9]+(_[a-z0-9]+)*$/.test(key)) throw new NeedsSerialiser()
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

const isUndefined = (value: unknown): boolean => {
  const { lc, type } = (value ?? {}) as Fields
  return lc === 2 && type === "undefined"
}

/** Whether the value contains nothing that the serialiser or LangChain would convert. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true
  if (Array.isArray(value)) return value.every(isPlain)
  for (const key in value) {
    if (key === "lc" || key === "__lc_escaped__" || key === "__proto__" || !isPlain((value as Fields)[key]))
      return false
  }
  return true
}
