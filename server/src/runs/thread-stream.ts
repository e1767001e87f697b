/**
 * The stream of a thread for one client: the events of its runs in the order in which they were logged, until the client
 * disconnects (agent-server-api §5.14, docs/decisions/0021-a-thread-is-a-topic.md).
 */
import { LastEvents, resultEvent, stateEvent } from "../events/event.js"
import { isPublic } from "../events/event-filter.js"
import { placeInThread } from "../events/queries.js"
import type { Subscriber } from "../events/topic.js"
import type { Runs } from "./parts.js"

export const threadStreamModes = ["run_modes", "lifecycle", "state_update"] as const
export type ThreadStreamMode = (typeof threadStreamModes)[number]

/** After which event a client continues: an event of a run, or the start of the log. */
export type ThreadPlace = "beginning" | { readonly runId: string; readonly seq: number }

/** @returns undefined when the header is absent or not one of our ids: then only future events are sent */
export function parseThreadPlace(header: string | undefined): ThreadPlace | undefined {
  if (header === "-" || header === "-1") return "beginning"
  const [, runId, seq] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(\d{1,15})$/.exec(header ?? "") ?? []
  return runId === undefined ? undefined : { runId, seq: Number(seq) }
}

/** @returns whether a client that asks for these modes gets an event of this name */
export function threadFilter(modes: readonly ThreadStreamMode[]): (event: string) => boolean {
  const asked = new Set(modes)
  return (event) => {
    if (event === stateEvent) return asked.has("state_update")
    if (event === resultEvent) return false
    if (asked.has("run_modes")) return isPublic(event)
    return asked.has("lifecycle") && (event === "metadata" || event === "end")
  }
}

/**
 * Sends a subscriber the thread's events after a place, then live events.
 * @param after  undefined: only future events; then it resolves once none of these can be missed
 */
export async function followThread(
  { db, streams }: Pick<Runs, "db" | "streams">,
  subscriber: Subscriber,
  { threadId, after }: { readonly threadId: string; readonly after: ThreadPlace | undefined },
): Promise<void> {
  const { threads } = streams
  try {
    if (after === undefined) {
      threads.subscribe(threadId, subscriber)
      return await threads.follow(threadId)
    }
    const place = after === "beginning" ? undefined : await placeInThread(db, threadId, after)
    const isKnown = after !== "beginning" && place !== undefined
    const from = isKnown ? { place, last: LastEvents.upTo(after) } : { place: -1, last: LastEvents.none() }
    await threads.replay(threadId, subscriber, from)
  } catch (error) {
    threads.unsubscribe(threadId, subscriber)
    throw error
  }
}
