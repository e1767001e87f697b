/**
 * What user code has thrown, as text. Any value can be thrown, and its properties may be of any type, or getters that throw: every line
 * about an error of user code is made here.
 */
import { types } from "node:util"
import type { DoneFrame, RunFailure } from "@superstep/protocol/worker/frames"

/** An error in the form for clients: its class and its message. Any other thrown value is shown as JSON. Never throws. */
export function describeError(thrown: unknown): { error: string; message: string } {
  try {
    // The properties of an error may have any type, or be getters that fail.
    if (isError(thrown)) return { error: String(thrown.name || "Error"), message: String(thrown.message) }
    return { error: "Error", message: typeof thrown === "string" ? thrown : json(thrown) }
  } catch {
    return { error: "Error", message: "(the message of this error cannot be read)" }
  }
}

// The rest of a deep recursion's stack adds nothing.
const maxStackLength = 8_000

/** Where an error was thrown, and why: for a log, never for clients. Never throws; undefined also if the stack cannot be read. */
export function stackOf(thrown: unknown): string | undefined {
  try {
    if (!isError(thrown) || thrown.stack === undefined) return undefined
    const cause = thrown.cause === undefined || thrown.cause === thrown ? undefined : stackOf(thrown.cause)
    const stack = cause === undefined ? String(thrown.stack) : `${thrown.stack}\ncaused by ${cause}`
    return stack.slice(0, maxStackLength)
  } catch {
    return undefined
  }
}

/** For a log: where an error was thrown, or its message where that is not known. Never throws. */
export const errorText = (thrown: unknown): string => stackOf(thrown) ?? describeError(thrown).message

/** The error of a run in its `done` frame. @param thrown  any value can be thrown */
export function runFailure(thrown: unknown): Pick<DoneFrame, "error" | "stack"> {
  const described = describeError(thrown)
  const stack = stackOf(thrown)
  const more = described.error === "UnknownInterruptError" ? refusal(thrown) : {}
  return { error: { ...described, ...more }, ...(stack === undefined ? {} : { stack }) }
}

/** What LangGraph (1.7 and newer) says about an answer that it refused in strict mode. */
function refusal(thrown: unknown): Pick<RunFailure, "reason" | "interrupt_ids" | "pending_ids"> {
  try {
    const { reason, interruptIds, pendingIds } = thrown as Readonly<Record<string, unknown>>
    return { reason: String(reason), interrupt_ids: texts(interruptIds), pending_ids: texts(pendingIds) }
  } catch {
    // A class of the user with the same name.
    return {}
  }
}

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

export function isError(value: unknown): value is Error {
  // Errors of another realm (a vm, a jest context) fail instanceof.
  return value instanceof Error || types.isNativeError(value)
}

const json = (value: unknown): string =>
  JSON.stringify(value, (_, each) => (typeof each === "bigint" ? each.toString() : each)) ?? "null"
