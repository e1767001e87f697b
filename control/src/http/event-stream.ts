/** Server-sent events: a reply that goes on until its source ends, its client leaves or the process stops. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Context } from "hono"
import { streamSSE } from "hono/streaming"

// Proxies close what says nothing for a minute; half of that is safe for all of them.
const heartbeatMs = 15_000

export interface StreamedEvent {
  /** What a client that comes back sends as `Last-Event-ID`. */
  readonly id: string
  readonly event: string
  readonly data: object
}

export interface EventSource {
  /** Ends the stream; the client comes back to the next process. */
  readonly stopping: AbortSignal
  /** Throws what a request would be answered now: a key that was revoked gets no more. Asked before each event. */
  readonly check: () => Promise<unknown>
  /** Is asked for events as fast as the client reads, and told by its signal when nobody does any more. */
  readonly events: (signal: AbortSignal) => AsyncIterable<StreamedEvent>
}

export function sendEvents(c: Context, { stopping, check, events }: EventSource): Response {
  c.header("x-accel-buffering", "no")
  return streamSSE(c, async (stream) => {
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

/** @returns false when the caller may not read this any more; another fault, such as of the database, decides nothing */
export async function holds(check: () => Promise<unknown>): Promise<boolean> {
  try {
    await check()
    return true
  } catch (error) {
    return !(error instanceof KnownError) || "retryAfterMs" in error
  }
}

/** Whether a request wants a stream: by its Accept header or `?follow=true`. */
export const wantsStream = (c: Context, follow: boolean | undefined): boolean =>
  follow ?? (c.req.header("accept") ?? "").toLowerCase().includes("text/event-stream")
