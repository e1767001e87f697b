/** Recorded streams of the reference server, and the differences that are allowed between two streams of one graph. */
import { readFileSync } from "node:fs"
import type { RunOptions } from "./fake-server.js"
import { graphsFolder } from "./worker.js"

export interface StreamEvent {
  readonly event: string
  readonly data: unknown
}

export interface Recording {
  readonly graphId: string
  readonly run: RunOptions
  /** Without `metadata` and `error`, which the server adds. */
  readonly events: readonly StreamEvent[]
  /** Whether the stream ended with `error`. */
  readonly fails: boolean
}

/** @param name  of a file in `tests/graphs/recordings` */
export function readRecording(name: string): Recording {
  const lines = readFileSync(`${graphsFolder}recordings/${name}.jsonl`, "utf8").trimEnd().split("\n")
  const [{ request }, ...events] = lines.map((line) => JSON.parse(line))
  const { assistant_id: graphId, input, stream_mode = ["values"], stream_subgraphs = false } = request
  const breakpoints = request.interrupt_before === undefined ? {} : { interrupt_before: request.interrupt_before }
  const durability = request.durability === undefined ? {} : { durability: request.durability }
  return {
    graphId,
    run: { input, stream_modes: [stream_mode].flat(), stream_subgraphs, ...breakpoints, ...durability, config },
    events: events.filter(({ event }) => event !== "metadata" && event !== "error"),
    fails: events.at(-1)?.event === "error",
  }
}

/** Keys that the reference server adds to every run's config. */
const config = {
  configurable: { "user-agent": "curl/7.88.1", assistant_id: "an-assistant" },
  metadata: {
    assistant_id: "an-assistant",
    created_by: "system",
    langgraph_api_url: "http://localhost",
    langgraph_host: "self-hosted",
    langgraph_plan: "developer",
  },
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const interruptId = /\b[0-9a-f]{32}\b/g
const timestamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|\+00:00)/g

/**
 * The event with every id, time and library version replaced by its kind.
 *
 * The reference server runs everything through `streamEvents`, so its models always stream; ours stream only when a client
 * listens (architecture D6). A message that was assembled from chunks has the id `run-<id>` (in Python the others end with `-0`)
 * and an empty list of tool call chunks. LangGraph assigns a tool message's id late, so whether an event contains it depends on when the
 * event was written.
 */
export function normalised({ event, data }: StreamEvent): StreamEvent {
  const text = JSON.stringify({ event, data })
    .replaceAll('"an-assistant"', '"<uuid>"')
    .replaceAll(uuid, "<uuid>")
    .replaceAll(/lc_run--<uuid>(?:-0)?|run-<uuid>/g, "<uuid>")
    .replaceAll('"tool_call_chunks":[],', "")
    .replaceAll('"id":"<uuid>-tool-call_1",', "")
    .replaceAll(interruptId, "<interrupt>")
    .replaceAll(timestamp, "<time>")
    .replaceAll(/"(langgraph_version|@langchain\/core)":"[^"]+"/g, '"$1":"<version>"')
  return JSON.parse(text)
}

/** Events of one name in their order: with LangChain's callbacks the order between names varies. */
export function byName(events: readonly StreamEvent[]): Record<string, unknown[]> {
  const groups: Record<string, unknown[]> = {}
  for (const { event, data } of events) groups[event] = [...(groups[event] ?? []), data]
  return groups
}
