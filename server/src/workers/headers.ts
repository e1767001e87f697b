/** Reads the headers that a worker sends. An event's is checked by hand: it is the hot path (architecture D3). */
import type { EventFrame, WorkerFrame } from "@superstep/protocol/worker/frames"
import { z } from "zod"

/** The worker does not keep to the protocol; its connection is closed. */
export class ProtocolViolation extends Error {
  override readonly name = "ProtocolViolation"
}

const failure = z.looseObject({ error: z.string(), message: z.string() })
const graphError = z.looseObject({ name: z.string(), message: z.string(), code_frame: z.string().optional() })
const payload = z.array(z.string()).optional()

const rareHeader = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("hello"), protocol: z.literal(1), worker_id: z.string() }),
  z.looseObject({
    type: z.literal("loaded"),
    graphs: z.array(z.looseObject({ graph_id: z.string() })),
    failed: z.array(z.looseObject({ graph_id: z.string(), error: graphError })),
    auth: z.looseObject({ handlers: z.array(z.string()) }).optional(),
    auth_error: graphError.optional(),
    app: z.looseObject({ socket_path: z.string() }).optional(),
    app_error: graphError.optional(),
  }),
  z.looseObject({
    type: z.literal("done"),
    run_id: z.string(),
    claim_id: z.string(),
    status: z.enum(["success", "interrupted", "error", "cancelled", "drained"]),
    error: failure.optional(),
    stack: z.string().optional(),
    next: z.array(z.string()).optional(),
    payload: z.tuple([z.literal("values"), z.literal("interrupts")]),
  }),
  z.looseObject({ type: z.literal("call"), call_id: z.string(), method: z.string(), payload }),
  z.looseObject({ type: z.literal("reply"), call_id: z.string(), payload }),
  z.looseObject({ type: z.literal("failure"), call_id: z.string(), error: failure }),
  z.looseObject({ type: z.literal("pong"), nonce: z.string() }),
  z.looseObject({ type: z.literal("load_report"), busy: z.number(), memory_mb: z.number() }),
])

// An event's name holds names of nodes, which belong to the user. It becomes a field of a `text/event-stream`, where a line
// break begins the next one, and text in Postgres, which refuses U+0000. Hardly any has one: a test is all that most pay.
const controls = /\p{Cc}/u

const withPlainName = (header: EventFrame): EventFrame => ({
  ...header,
  event: header.event.replaceAll(/\p{Cc}/gu, "\ufffd"),
})

/** @throws ProtocolViolation  for anything that is not a header of a worker */
export function parseHeader(line: string): WorkerFrame {
  const header = parseJson(line)
  if (isEvent(header)) return controls.test(header.event) ? withPlainName(header) : header
  const parsed = rareHeader.safeParse(header)
  if (parsed.success) return parsed.data as WorkerFrame
  const { path, message } = parsed.error.issues[0] ?? { path: [], message: "wrong shape" }
  throw new ProtocolViolation(`the worker sent a header that is none: ${path.join(".")}: ${message}: ${excerpt(line)}`)
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

const excerpt = (line: string): string => (line.length > 200 ? `${line.slice(0, 200)}…` : line)
