/**
 * Parses the headers that a worker sends, and validates them with the protocol's schema. Headers of events and calls, which are
 * nearly all, are checked by hand for speed (architecture D3).
 */
import type { EventFrame, WorkerCall, WorkerFrame } from "@superstep/protocol/worker/frames"
import { problems } from "@superstep/protocol/worker/schema"
import { parseJson as parseExact } from "@superstep/toolkit/http/json"

/** The worker violated the protocol; its connection is closed. */
export class ProtocolViolation extends Error {
  override readonly name = "ProtocolViolation"
}

// An event's name contains names of nodes, which the user chooses. It becomes a field of a `text/event-stream`, where a line
// break starts the next field, and text in Postgres, which rejects U+0000. Such names are rare, so a test comes first.
const controls = /\p{Cc}/u

const withPlainName = (header: EventFrame): EventFrame => ({
  ...header,
  event: header.event.replaceAll(/\p{Cc}/gu, "\ufffd"),
})

/** @throws ProtocolViolation  for a line that is not a valid header of a worker */
export function parseHeader(line: string): WorkerFrame {
  const header = parseJson(line)
  if (isEvent(header)) return controls.test(header.event) ? withPlainName(header) : header
  // Only the filter of a call has values of users (decision 0057).
  if (isCall(header)) return "filter" in header ? { ...header, filter: parseExact(line).filter } : header
  const wrong = problems("WorkerFrame", header)
  if (wrong.length === 0) return header as WorkerFrame
  throw new ProtocolViolation(`the worker sent an invalid header: ${wrong.join("; ")}: ${excerpt(line)}`)
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new ProtocolViolation(`the worker sent a header that is not JSON: ${excerpt(line)}`, { cause })
  }
}

const isEvent = (header: unknown): header is EventFrame => {
  const event = header as Partial<Record<string, unknown>> | null
  return (
    event?.type === "event" &&
    typeof event.claim_id === "string" &&
    typeof event.event === "string" &&
    Array.isArray(event.payload) &&
    event.payload.length === 1
  )
}

/** Checks only the common fields of a call; its method's handler checks the others. */
const isCall = (header: unknown): header is WorkerCall => {
  const call = header as Partial<Record<string, unknown>> | null
  if (call?.type !== "call" || typeof call.call_id !== "string" || typeof call.method !== "string") return false
  return call.payload === undefined || (Array.isArray(call.payload) && call.payload.every(isText))
}

const isText = (value: unknown): value is string => typeof value === "string"

const excerpt = (line: string): string => (line.length > 200 ? `${line.slice(0, 200)}…` : line)
