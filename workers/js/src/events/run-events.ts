/** All events of a run: those that its stream modes ask for, and the protocol events of a run that has them. */

import { isRecord } from "@superstep/protocol/worker/validate"
import type { ProtocolEvents } from "./protocol-events.js"
import { SharedJson, type WireEvent } from "./wire-event.js"

/**
 * @param chunk  `[namespace, mode, payload]` of a stream with subgraphs
 * @param own    the events of the chunk that the run's stream modes ask for
 */
export function withProtocolEvents(chunk: unknown, own: readonly WireEvent[], protocol: ProtocolEvents): WireEvent[] {
  if (own.length === 0 || !Array.isArray(chunk)) return [...own, ...protocol.fromChunk(chunk)]
  const payload: unknown = chunk[2]
  const json = new SharedJson(payload)
  const events = protocol.fromChunk(chunk, json)
  return [...own.map((event) => (event.data === payload ? shared(event, json, events) : event)), ...events]
}

/** The same JSON for both forms of an event. The protocol's `updates` shows the node's part of the other one. */
function shared(event: WireEvent, json: SharedJson, protocol: readonly WireEvent[]): WireEvent {
  const nodes = isRecord(event.data) ? Object.entries(event.data) : []
  const [first] = nodes
  const part = protocol.find(({ name, data }) => name.startsWith("protocol:updates") && data === first?.[1])
  if (nodes.length !== 1 || first === undefined || part?.json === undefined) return { ...event, json }
  const around = [`{${JSON.stringify(first[0])}:`, "}"] as const
  return { ...event, json: part.json, around }
}
