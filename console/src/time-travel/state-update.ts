/** From an edited state to the updates that make a graph's state equal to it, whatever its reducers do. Pure. */
import { areMessages, type RawMessage } from "../messages/messages.js"

export type State = Readonly<Record<string, unknown>>

/** LangGraph's id of a message that removes all messages before it. */
const removeAll = { type: "remove", id: "__remove_all__", content: "" }

/**
 * The values to write. Only what was edited is in it. Lists of messages are replaced as a whole, which their reducer would
 * otherwise merge by id.
 * @returns undefined if nothing was edited
 */
export function updateOf(before: State, edited: State): State | undefined {
  const keys = Object.keys(edited).filter((key) => !areEqual(before[key], edited[key]))
  if (keys.length === 0) return undefined
  return Object.fromEntries(keys.map((key) => [key, valueFor(before[key], edited[key])]))
}

const valueFor = (before: unknown, after: unknown): unknown =>
  areMessages(after) && areMessages(before) ? [removeAll, ...after] : after

/** Other reducers combine what is written with what was there: this replaces it. For keys that an update left different. */
export function overwriteOf(wanted: State, written: State, keys: readonly string[]): State | undefined {
  const different = keys.filter((key) => !isSame(wanted[key], written[key]))
  if (different.length === 0) return undefined
  return Object.fromEntries(different.map((key) => [key, { __overwrite__: wanted[key] }]))
}

/** Fields that the edited state lacks: an update cannot remove them. */
export const removedKeys = (before: State, edited: State): string[] =>
  Object.keys(before).filter((key) => !(key in edited))

/** A graph adds defaults to the messages that it stores: what was written is compared. */
function isSame(wanted: unknown, written: unknown): boolean {
  if (!areMessages(wanted) || !areMessages(written)) return areEqual(wanted, written)
  return (
    wanted.length === written.length && wanted.every((message, position) => isSameMessage(message, written[position]))
  )
}

const isSameMessage = (a: RawMessage, b: RawMessage | undefined): boolean =>
  b !== undefined &&
  (a.id === undefined || a.id === b.id) &&
  areEqual(a.content, b.content) &&
  areEqual(a.tool_calls ?? [], b.tool_calls ?? [])

function areEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => key in b && areEqual((a as State)[key], (b as State)[key]))
  )
}
