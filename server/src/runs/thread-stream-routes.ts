/** The stream of a thread (agent-server-api §5.14). */
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { z } from "zod"
import { EventResponse } from "../events/event-response.js"
import { callerOf } from "../http/caller-of.js"
import { queryList } from "../http/parameters.js"
import { getThread, notFound } from "../threads/operations.js"
import type { Runs } from "./operations.js"
import { eventStream, threadParams } from "./schema.js"
import {
  parseThreadPlace,
  type ThreadReading,
  ThreadStream,
  type ThreadStreamMode,
  threadStreamModes,
} from "./thread-stream.js"

const modes = queryList(z.enum(threadStreamModes))

// The OpenAPI document of the Platform says `stream_modes`, and both SDKs send `stream_mode`.
const query = z.object({ stream_mode: modes, stream_modes: modes })

export function addThreadStreamRoutes(api: Api, runs: Runs): void {
  addRoute(
    api,
    {
      method: "get",
      path: "/threads/{thread_id}/stream",
      summary: "Follow a thread: the events of its runs, one after the other, until the client leaves",
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
      return followThread(runs, c, { threadId, after, modes: asked.length === 0 ? ["run_modes"] : asked })
    },
  )
}

async function followThread(runs: Runs, c: Context, reading: ThreadReading): Promise<Response> {
  const { threadId } = reading
  await getThread(runs.db, callerOf(c), threadId)
  const client = new EventResponse(c, {}, { budget: runs.streams.readers })
  const stream = new ThreadStream(runs, reading, client)
  try {
    // It may have been deleted in this moment.
    if (!(await runs.streams.threads.add(threadId, stream))) notFound(threadId)
    await stream.open()
  } catch (error) {
    stream.leave()
    client.abandon()
    throw error
  }
  const reply = client.respond(c, { location: pathOf(threadId, reading.modes) }, () => stream.leave())
  stream.read().catch((err: Error) => {
    runs.log.warn({ err, thread_id: threadId }, "the stream of a thread could not be read on")
    stream.break(err)
  })
  return reply
}

/** Where a client comes back to when its connection is lost, with what it asked for. */
function pathOf(threadId: string, asked: readonly ThreadStreamMode[]): string {
  const query = new URLSearchParams(asked.map((mode): [string, string] => ["stream_mode", mode]))
  return `/threads/${threadId}/stream?${query}`
}
