/** Server-sent events: a reply that continues until its source ends, its client leaves or the process stops. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { longAnswerHeaders } from "@superstep/toolkit/http/long-answer"
import type { Context } from "hono"
import { streamSSE } from "hono/streaming"

// Proxies close connections that are silent for a minute; half of that is safe with all of them.
const heartbeatMs = 15_000

export interface StreamedEvent {
  /** The client sends it as `Last-Event-ID` when it reconnects. */
  readonly id: string
  readonly event: string
  readonly data: object
}

export interface EventSource {
  /** Ends the stream; the client reconnects to the next process. */
  readonly stopping: AbortSignal
  /** Throws what a new request would be answered: a revoked key gets no more events. Called before each event. */
  readonly check: () => Promise<unknown>
  /** The source of events, read as fast as the client reads; its signal aborts when the client has left. */
  readonly events: (signal: AbortSignal) => AsyncIterable<StreamedEvent>
}

export function sendEvents(c: Context, { stopping, check, events }: EventSource): Response {
  for (const [name, value] of Object.entries(longAnswerHeaders)) c.header(name, value)
  return streamSSE(c, async (stream) => {
    // Replaces the value that streamSSE has set: this still runs before it makes the response.
    c.header("cache-control", longAnswerHeaders["cache-control"])
    const left = new AbortController()
    stream.onAbort(() => left.abort())
    const signal = AbortSignal.any([left.signal, stopping])
    const heartbeat = setInterval(() => void stream.write(": heartbeat\n\n"), heartbeatMs)
    try {
      for await (const { id, event, data } of events(signal)) {
        if (!(await holds(check))) return
        await stream.writeSSE({ id, event, data: JSON.stringify(data) })
      }
    } finally {
      clearInterval(heartbeat)
    }
  })
}

/** @returns  false when the caller may not read this any more; another fault, such as of the database, does not count */
export async function holds(check: () => Promise<unknown>): Promise<boolean> {
  try {
    await check()
    return true
  } catch (error) {
    return !(error instanceof KnownError) || "retryAfterMs" in error
  }
}

/** Whether a request asks for a stream: by its Accept header or `?follow=true`. */
export const wantsStream = (c: Context, follow: boolean | undefined): boolean =>
  follow ?? (c.req.header("accept") ?? "").toLowerCase().includes("text/event-stream")
