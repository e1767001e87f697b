/**
 * Events of the newer streaming protocol: their names, those that the server makes, and their bytes on the wire. Pure.
 * docs/decisions/0040-protocol-events-are-made-by-the-worker-and-kept-in-the-threads-log.md
 */
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { type EncodedEvent, encodeLines, type TopicEvent } from "./event.js"

const prefix = "protocol:"

/** Whether clients of the newer protocol get an event of this name; all other clients never do. */
export const isProtocolEvent = (event: string): boolean => event.startsWith(prefix)

export interface ProtocolName {
  /** The channel, such as `values`, `custom:progress` or `input.requested`. */
  readonly channel: string
  /** The path of the graph or task: one `node:task` for each level. */
  readonly namespace: readonly string[]
}

/** The parts of a name such as `protocol:messages|model:<task>`; undefined when it is of another kind. */
export function parseProtocolName(event: string): ProtocolName | undefined {
  if (!isProtocolEvent(event)) return undefined
  const [channel = "", ...namespace] = event.slice(prefix.length).split("|")
  return { channel, namespace }
}

const methodOf = (event: string): string => {
  const channel = parseProtocolName(event)?.channel ?? event
  return channel.startsWith("custom:") ? "custom" : channel
}

export type RootStatus = "running" | "completed" | "failed" | "interrupted"

/** The status of the root graph after a run with this final status; a rolled back run was interrupted. */
export function rootStatusOf(runStatus: string): RootStatus {
  if (runStatus === "success") return "completed"
  return runStatus === "error" || runStatus === "timeout" ? "failed" : "interrupted"
}

/** Why answers were refused that had to match open interrupts (`strict_resume`). */
export interface Refusal {
  readonly reason: "not_pending" | "empty_map" | "ambiguous"
  readonly interrupt_ids: readonly string[]
  readonly pending_ids: readonly string[]
}

export interface RootLifecycle {
  readonly runId: string
  readonly attempt?: number
  readonly status: RootStatus
  /** Undefined when unknown: the run never started. */
  readonly graphId?: string | undefined
  /** A text for people. */
  readonly error?: string | undefined
  readonly refusal?: Refusal | undefined
}

/** A protocol event without its id and position. */
export interface ProtocolEvent {
  readonly event: string
  /** One line of JSON. */
  readonly data: string
}

/**
 * The event that reports the status of a run's root graph. Clients read the run's id from the event's id. A later attempt has an id of its
 * own for `running`: clients then drop the unfinished messages of the attempt before.
 */
export function rootLifecycle({ runId, attempt = 1, status, graphId, error, refusal }: RootLifecycle): ProtocolEvent {
  const again = status === "running" && attempt > 1 ? `:${attempt}` : ""
  const data = {
    event: status,
    ...(graphId !== undefined && { graph_name: graphId }),
    ...(error !== undefined && { error }),
    ...refusal,
  }
  const event = { event_id: `synth:${runId}:${status}${again}`, method: "lifecycle", params: paramsOf(data) }
  return { event: "protocol:lifecycle", data: toJsonText(event) }
}

/** The event of a run that starts with answers to these interrupts, before the answers are checked. */
export const inputAnswered = (interruptIds: readonly string[]): ProtocolEvent => ({
  event: "protocol:input.answered",
  data: toJsonText({ method: "input.answered", params: paramsOf({ interrupt_ids: interruptIds }) }),
})

/**
 * What a run leaves that began before anybody followed its thread with the newer protocol: the state after it, and its open interrupts.
 * @param values      JSON text of the root's state; undefined when unknown
 * @param interrupts  JSON text: interrupts by task
 */
export function finalEvents(values: string | undefined, interrupts: string): ProtocolEvent[] {
  const open = Object.values(parseJson(interrupts) as Record<string, { id?: string; value?: unknown }[]>).flat()
  const state = `{"method":"values","params":{"namespace":[],"timestamp":${Date.now()},"data":${values?.trim()}}}`
  return [
    ...(values === undefined ? [] : [{ event: "protocol:values", data: state }]),
    ...open.map(({ id, value }) => ({
      event: "protocol:input.requested",
      data: toJsonText({
        method: "input.requested",
        params: paramsOf({ interrupt_id: id, payload: value ?? null, value: value ?? null }),
      }),
    })),
  ]
}

const paramsOf = (data: object) => ({ namespace: [], timestamp: Date.now(), data })

const ownId = Buffer.from('{"event_id":')

/**
 * The bytes of a protocol event in `text/event-stream`. Its data is the event as clients read it, on a WebSocket too: the fields that only
 * the log knows are put in front of those that were published.
 */
export function encodeProtocolEvent(event: TopicEvent): EncodedEvent {
  const { runId, seq, place, data } = event
  const hasId = data.subarray(0, ownId.length).equals(ownId)
  const id = hasId ? "" : `"event_id":"${runId}:${seq}",`
  const head = Buffer.from(`{"type":"event","seq":${place},${id}`)
  return encodeLines({ ...event, data: Buffer.concat([head, data.subarray(1)]) }, methodOf(event.event), String(place))
}
