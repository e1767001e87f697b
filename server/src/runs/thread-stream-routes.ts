/** The stream of a thread (agent-server-api §5.14). */
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { z } from "zod"
import { EventResponse, orAbandon } from "../events/event-response.js"
import { callerOf } from "../http/caller-of.js"
import { queryList } from "../http/parameters.js"
import { getThread, notFound } from "../threads/operations.js"
import type { Runs } from "./operations.js"
import { tellMissedEnd } from "./overdue-ends.js"
import { eventStream, threadParams } from "./schema.js"
import {
  followThread,
  parseThreadPlace,
  type ThreadPlace,
  type ThreadStreamMode,
  threadFilter,
  threadStreamModes,
} from "./thread-stream.js"

const modes = queryList(z.enum(threadStreamModes))

// The Platform's OpenAPI document has `stream_modes`; both SDKs send `stream_mode`.
const query = z.object({ stream_mode: modes, stream_modes: modes })

export function addThreadStreamRoutes(api: Api, runs: Runs): void {
  addRoute(
    api,
    {
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
    },
    ({ c, params, query: { stream_mode = [], stream_modes = [] } }) => {
      const asked = [...new Set([...stream_mode, ...stream_modes])]
      const after = parseThreadPlace(c.req.header("last-event-id"))
      const { thread_id: threadId } = params
      return streamThread(runs, c, { threadId, after, modes: asked.length === 0 ? ["run_modes"] : asked })
    },
  )
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
    // The thread may have been deleted at this moment.
    if (!(await streams.watched.watch(threadId))) notFound(threadId)
    await followThread(runs, subscriber, { threadId, after })
    await tellMissedEnd(runs, threadId, { forProtocol: false })
  }
  const following = orAbandon(subscriber, follow)
  // Past events may be more than the client reads at once: send the headers, and the rest afterwards.
  await Promise.race([following, subscriber.hasPlenty])
  following.catch((err: Error) => {
    log.warn({ err, thread_id: threadId }, "the stream of a thread could not be continued")
    leave()
    subscriber.break(err)
  })
  return subscriber.respond(c, { location: pathOf(threadId, modes) }, leave)
}

/** The path to reconnect to after a lost connection, with the requested modes. */
function pathOf(threadId: string, asked: readonly ThreadStreamMode[]): string {
  const query = new URLSearchParams(asked.map((mode): [string, string] => ["stream_mode", mode]))
  return `/threads/${threadId}/stream?${query}`
}
