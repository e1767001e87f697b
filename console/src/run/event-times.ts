/** When nodes and model calls began and ended, from the logged events of a run. Without a log nothing is known. Pure. */
import type { TimedEvent } from "./run-data.js"

export interface Span {
  readonly start: number | undefined
  readonly end: number | undefined
}

export interface EventTimes {
  /** By the id of the task. */
  readonly tasks: ReadonlyMap<string, Span>
  /** By the id of the message: from its first to its last chunk. */
  readonly messages: ReadonlyMap<string, Span>
}

/** Events of the modes `tasks` and `messages`; those of subgraphs have a namespace behind a bar in their names. */
export function eventTimesOf(events: readonly TimedEvent[]): EventTimes {
  const tasks = new Map<string, Span>()
  const messages = new Map<string, Span>()
  for (const { event, data, created_at } of events) {
    const at = Date.parse(created_at)
    const [mode = ""] = event.split("|")
    if (mode === "tasks" && isObject(data) && typeof data.id === "string") {
      const isEnd = "result" in data || "error" in data
      const known = tasks.get(data.id)
      tasks.set(data.id, isEnd ? { start: known?.start, end: at } : { start: at, end: known?.end })
    }
    if (mode.startsWith("messages")) {
      for (const id of messageIds(data)) messages.set(id, { start: messages.get(id)?.start ?? at, end: at })
    }
  }
  return { tasks, messages }
}

/** `[message, metadata]` of the newer mode, a list of messages of the older one. */
const messageIds = (data: unknown): string[] =>
  (Array.isArray(data) ? data : [])
    .filter(isObject)
    .flatMap(({ id, content }) => (typeof id === "string" && content !== undefined ? [id] : []))

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
