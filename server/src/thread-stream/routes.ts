/** Routes of the newer streaming protocol (protocol-v2 §1.2). */
import { type InvalidInput, Refused } from "@superstep/toolkit/errors/errors"
import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { EventResponse } from "../events/event-response.js"
import { callerOf } from "../http/caller-of.js"
import type { Upgrade } from "../http/upgrade.js"
import type { RunRoutes } from "../runs/creating-routes.js"
import { eventStream, threadParams } from "../runs/schema.js"
import { channelFilter } from "./channel-filter.js"
import { CommandFailed, errorReply, successReply } from "./command.js"
import { executeCommand } from "./commands.js"
import { followThread, replayThread, untilThreadExists } from "./follow.js"
import { command, commandReply, type EventFilterBody, eventFilter } from "./schema.js"
import { SocketSession } from "./socket-session.js"
import { placeAfter } from "./thread-log.js"

// The protocol's clients expect this status (recordings `v2-chat-bad-envelope.txt`, `v2-chat-bad-filter.txt`).
const refuse = (error: InvalidInput) => new Refused(error.message, "invalid_input")

/** Whether this is the path of the only WebSocket among the server's routes. */
export const isThreadSocket = (path: string): boolean => /^\/threads\/[^/]+\/stream\/events$/.test(path)

export function addThreadProtocolRoutes(api: Api, runs: RunRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/threads/{thread_id}/commands",
    summary: "Execute a command of the newer streaming protocol on a thread",
    lasts: "long",
    tags: ["Threads"],
    params: threadParams,
    body: command,
    refuse,
    responses: {
      200: { description: "The command was executed, or failed", schema: commandReply },
      400: { description: "Not a command" },
      404: { description: "No such thread or assistant" },
    },
    handle: async ({ c, params: { thread_id: threadId }, body: { id, method, params }, bodyText }) => {
      try {
        return jsonResponse(
          successReply(id, threadId, await executeCommand(runs, method, { c, threadId, params, bodyText })),
        )
      } catch (error) {
        if (error instanceof CommandFailed) return jsonResponse(errorReply(id, error.code, error.message))
        throw error
      }
    },
  })
  addRoute(api, {
    method: "post",
    path: "/threads/{thread_id}/stream/events",
    summary:
      "Follow a thread with the newer streaming protocol: past events, then live events, until the client leaves",
    lasts: "stream",
    tags: ["Threads"],
    params: threadParams,
    body: eventFilter,
    refuse,
    responses: {
      200: { description: "The events", schema: eventStream, contentType: "text/event-stream" },
      400: { description: "Not a filter" },
      404: { description: "The thread was deleted, or the caller may not see it" },
    },
    handle: ({ c, params, body }) => streamEvents(runs, c, params.thread_id, body),
  })
  addRoute(api, {
    method: "get",
    path: "/threads/{thread_id}/stream/events",
    summary: "Follow a thread and execute commands on a WebSocket, with the newer streaming protocol",
    lasts: "stream",
    tags: ["Threads"],
    params: threadParams,
    responses: {
      101: { description: "The WebSocket is open" },
      404: { description: "The thread was deleted, or the caller may not see it" },
      400: { description: "The request is no WebSocket handshake" },
    },
    handle: ({ c, params }) => openSocket(runs, c, params.thread_id),
  })
}

async function openSocket(runs: RunRoutes, c: Context, threadId: string): Promise<Response> {
  const { upgrade } = c.env as { upgrade?: Upgrade }
  await followThread(runs, { caller: callerOf(c), threadId })
  if (!upgrade) throw new Refused("GET is for WebSockets only: use POST for an event stream", "upgrade_required")
  upgrade.accept((ws, socket) => new SocketSession(runs, { c, threadId, ws, socket }))
  return c.body(null)
}

async function streamEvents(runs: RunRoutes, c: Context, threadId: string, body: EventFilterBody): Promise<Response> {
  const { streams, log } = runs
  const follower = { caller: callerOf(c), threadId }
  const exists = await followThread(runs, follower)
  const after = body.since ?? (await placeAfter(runs.db, threadId, c.req.header("last-event-id")))
  const subscriber = new EventResponse(c, channelFilter(body), { budget: streams.readers })
  const left = new AbortController()
  const response = subscriber.respond(c, {}, () => {
    left.abort()
    streams.protocol.unsubscribe(threadId, subscriber)
  })
  const follow = async () => {
    if (!exists) await untilThreadExists(runs, follower, left.signal)
    if (!left.signal.aborted) await replayThread(runs, threadId, { subscriber, after })
  }
  follow().catch((err: Error) => {
    log.warn({ err, thread_id: threadId }, "the protocol stream of a thread could not be continued")
    streams.protocol.unsubscribe(threadId, subscriber)
    subscriber.break(err)
  })
  return response
}
