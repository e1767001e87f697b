/**
 * What went into a span and what came out, as one line of JSON with a limit.
 *
 * A state that fits costs what its serialisation costs. One that does not fit is never serialised as a whole: it is walked until the limit
 * is reached, from the end of its lists, since the newest messages tell most. A text says where something is missing.
 */
import { isMessage, messageFields } from "../values/message-fields.js"
import { serialise } from "../values/serialise.js"

export interface Content {
  /** One line of JSON. */
  readonly text: string
  readonly isCut: boolean
}

/**
 * Never throws.
 * @param limit  about how many characters the text may have
 */
export function contentOf(value: unknown, limit: number): Content {
  try {
    if (fits(value, limit)) {
      const text = serialise(value)
      // What a class makes of itself may be larger than its fields.
      if (text.length <= 2 * limit) return { text, isCut: false }
    }
    return { text: serialise(cut(value, { left: limit, level: 0 })), isCut: true }
  } catch {
    // A getter of a user's class failed: the trace goes on without this value.
    return { text: '"… (cannot be read)"', isCut: true }
  }
}

// A value with deeper levels is cut there; the cycle of a value ends there, too.
const maxLevels = 32
// Quotes, commas, a number.
const valueLength = 8

interface Room {
  left: number
  level: number
}

const fits = (value: unknown, limit: number): boolean => {
  const room = { left: limit, level: 0 }
  measure(value, room)
  return room.left >= 0
}

function measure(value: unknown, room: Room): void {
  room.left -= valueLength
  if (typeof value === "string") room.left -= value.length
  if (typeof value !== "object" || value === null || room.left < 0) return
  if (ArrayBuffer.isView(value)) {
    room.left -= value.byteLength
    return
  }
  if (room.level >= maxLevels) {
    room.left = -1
    return
  }
  room.level += 1
  if (Array.isArray(value) || value instanceof Set) {
    for (const each of value) if (!measured(each, room)) break
  } else {
    for (const [key, each] of entriesOf(value)) {
      room.left -= key.length
      if (!measured(each, room)) break
    }
  }
  room.level -= 1
}

/** @returns  whether there is room for more */
function measured(value: unknown, room: Room): boolean {
  measure(value, room)
  return room.left >= 0
}

/** What of an object is serialised, or nearly: enough to measure it. One by one, since the reader stops at its limit. */
function* entriesOf(value: object): Generator<readonly [key: string, value: unknown]> {
  if (value instanceof Map) {
    for (const [key, each] of value) yield [String(key), each]
    return
  }
  const fields: object = isMessage(value) ? messageFields(value) : value
  for (const key in fields) if (Object.hasOwn(fields, key)) yield [key, Reflect.get(fields, key)]
}

function cut(value: unknown, room: Room): unknown {
  room.left -= valueLength
  if (typeof value === "string") return cutText(value, room)
  if (typeof value !== "object" || value === null) return value
  if (room.left <= 0 || room.level >= maxLevels) return "… (cut)"
  if (ArrayBuffer.isView(value)) return `… (${value.byteLength} bytes)`
  room.level += 1
  const form = cutObject(value, room)
  room.level -= 1
  return form
}

function cutText(text: string, room: Room): string {
  const kept = Math.max(0, Math.min(text.length, room.left))
  room.left -= kept
  return kept === text.length ? text : `${text.slice(0, kept)}… (${text.length - kept} more characters)`
}

function cutObject(value: object, room: Room): unknown {
  if (Array.isArray(value)) return cutList(value, room)
  if (value instanceof Set) return cutList([...value], room)
  if (value instanceof Error) return cut(JSON.parse(serialise(value)), room)
  // A date and an address are one text, which has no fields.
  if (value instanceof Date || value instanceof URL) return cut(value.toJSON(), room)
  const fields: [string, unknown][] = []
  for (const [key, each] of entriesOf(value)) {
    if (room.left <= 0) {
      fields.push(["…", "(cut)"])
      break
    }
    room.left -= key.length
    fields.push([key, cut(each, room)])
  }
  return Object.fromEntries(fields)
}

/** Its last items. */
function cutList(list: readonly unknown[], room: Room): unknown[] {
  const kept: unknown[] = []
  let first = list.length
  while (first > 0 && room.left > 0) {
    first -= 1
    kept.push(cut(list[first], room))
  }
  if (first > 0) kept.push(`… (${first} items before these)`)
  return kept.reverse()
}
