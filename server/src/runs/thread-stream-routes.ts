/**
 * The stream of a thread for one client: the events of its runs in the order in which they were logged, until the client
 * disconnects (agent-server-api §5.14, docs/decisions/0021-a-thread-is-a-topic.md).
 */
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { z } from "zod"
import { LastEvents, resultEvent, stateEvent } from "../events/event.js"
import { isPublic } from "../events/event-filter.js"
import { EventResponse, orAbandon } from "../events/event-response.js"
import { placeInThread } from "../events/queries.js"
import type { Subscriber } from "../events/topic.js"
import { callerOf } from "../http/caller-of.js"
import { queryList } from "../http/parameters.js"
import { getThread, notFound } from "../threads/operations.js"
import type { Runs } from "./operations.js"
import { announceMissedEnd } from "./overdue-ends.js"
import { eventStream, threadParams } from "./schema.js"

const threadStreamModes = ["run_modes", "lifecycle", "state_update"] as const
type ThreadStreamMode = (typeof threadStreamModes)[number]

const modes = queryList(z.enum(threadStreamModes))

// The Platform's OpenAPI document has `stream_modes`; both SDKs send `stream_mode`.
const query = z.object({ stream_mode: modes, stream_modes: modes })

export function addThreadStreamRoutes(api: Api, runs: Runs): void {
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/stream",
    summary: "Follow a thread: the events of its runs, one after the other, until the client leaves",
    lasts: "stream",
    tags: ["Threads"],
    params: threadParams,
    query,
    responses: {
      200: { description: "The events", schema: eventStream, contentType: "text/event-stream" },
      404: { description: "No such thread" },
      422: { description: "Invalid input" },
    },
    handle: ({ c, params, query: { stream_mode = [], stream_modes = [] } }) => {
      const asked = [...new Set([...stream_mode, ...stream_modes])]
      const after = parseThreadPlace(c.req.header("last-event-id"))
      const { thread_id: threadId } = params
      return streamThread(runs, c, { threadId, after, modes: asked.length === 0 ? ["run_modes"] : asked })
    },
  })
}

interface ThreadReading {
  readonly threadId: string
  readonly modes: readonly ThreadStreamMode[]
  readonly after: ThreadPlace | undefined
}

async function streamThread(runs: Runs, c: Context, { threadId, modes, after }: ThreadReading): Promise<Response> {
  const { db, log, streams } = runs
  await getThread(db, callerOf(c), threadId)
  const subscriber = new EventResponse(c, threadFilter(modes), { budget: streams.readers })
  const leave = () => streams.threads.unsubscribe(threadId, subscriber)
  const follow = async () => {
    try {
      // The thread may have been deleted at this moment.
      if (!(await streams.followed.follow(threadId))) notFound(threadId)
      await sendEvents(runs, subscriber, { threadId, after })
      await announceMissedEnd(runs, threadId, { forProtocol: false })
    } catch (error) {
      leave()
      throw error
    }
  }
  const following = orAbandon(subscriber, follow)
  // Past events may be more than the client reads at once: send the headers, and the rest afterwards.
  await Promise.race([following, subscriber.hasPlenty])
  following.catch((err: Error) => {
    log.warn({ err, thread_id: threadId }, "the stream of a thread could not be continued")
    subscriber.break(err)
  })
  return subscriber.respond(c, { location: pathOf(threadId, modes) }, leave)
}

/** The path to reconnect to after a lost connection, with the requested modes. */
function pathOf(threadId: string, asked: readonly ThreadStreamMode[]): string {
  const query = new URLSearchParams(asked.map((mode): [string, string] => ["stream_mode", mode]))
  return `/threads/${threadId}/stream?${query}`
}

/** After which event a client continues: an event of a run, or the start of the log. */
type ThreadPlace = "beginning" | { readonly runId: string; readonly seq: number }

/** @returns undefined when the header is absent or not one of our ids: then only future events are sent */
export function parseThreadPlace(header: string | undefined): ThreadPlace | undefined {
  if (header === "-" || header === "-1") return "beginning"
  const [, runId, seq] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(\d{1,15})$/.exec(header ?? "") ?? []
  return runId === undefined ? undefined : { runId, seq: Number(seq) }
}

/** @returns whether a client that asks for these modes gets an event of this name */
function threadFilter(modes: readonly ThreadStreamMode[]): (event: string) => boolean {
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
async function sendEvents(
  { db, streams }: Pick<Runs, "db" | "streams">,
  subscriber: Subscriber,
  { threadId, after }: { readonly threadId: string; readonly after: ThreadPlace | undefined },
): Promise<void> {
  const { threads } = streams
  if (after === undefined) {
    threads.subscribe(threadId, subscriber)
    return threads.tail(threadId)
  }
  const place = after === "beginning" ? undefined : await placeInThread(db, threadId, after)
  const isKnown = after !== "beginning" && place !== undefined
  const from = isKnown ? { place, last: LastEvents.upTo(after) } : { place: -1, last: LastEvents.none() }
  await threads.replay(threadId, subscriber, from)
}
