/** Parses the headers that a worker sends, and validates them with the functions that are generated from the protocol's schema. */
import type { EventFrame, WorkerFrame } from "@superstep/protocol/worker/frames"
import { isRecord, problemOf } from "@superstep/protocol/worker/validate"
import { workerFrames } from "@superstep/protocol/worker/validators"
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

/**
 * Parses a header line. Of a call it validates what each call has: fields of the method get a `failure` when they are invalid
 * (`calls.ts`), since they may come from user code, and the worker's other runs must not end with it (W5).
 * @throws ProtocolViolation  for a line that is not a valid header of a worker
 */
export function parseHeader(line: string): WorkerFrame {
  const header = parseJson(line)
  const problem = isRecord(header) ? problemOf(workerFrames, "type", header) : "frame must be object"
  if (problem !== undefined)
    throw new ProtocolViolation(`the worker sent an invalid header: ${problem}: ${excerpt(line)}`)
  const frame = header as WorkerFrame
  if (frame.type === "event" && controls.test(frame.event)) return withPlainName(frame)
  // Only the filter of a call has values of users (decision 0057). One that is itself a number stays plain, and is refused.
  if (frame.type === "call" && "filter" in frame && isRecord(frame.filter))
    return { ...frame, filter: parseExact(line).filter }
  return frame
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new ProtocolViolation(`the worker sent a header that is not JSON: ${excerpt(line)}`, { cause })
  }
}

const excerpt = (line: string): string => (line.length > 200 ? `${line.slice(0, 200)}…` : line)
