/** Server-sent events: a reply that goes on until its source ends, its client leaves or the process stops. */
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

/**
 * @param stopping  ends the stream; the client comes back to the next process
 * @param source    is asked for events as fast as the client reads, and told by its signal when nobody does any more
 */
export function sendEvents(
  c: Context,
  stopping: AbortSignal,
  source: (signal: AbortSignal) => AsyncIterable<StreamedEvent>,
): Response {
  c.header("x-accel-buffering", "no")
  return streamSSE(c, async (stream) => {
    const left = new AbortController()
    stream.onAbort(() => left.abort())
    const signal = AbortSignal.any([left.signal, stopping])
    const heartbeat = setInterval(() => void stream.write(": heartbeat\n\n"), heartbeatMs)
    try {
      for await (const { id, event, data } of source(signal)) {
        await stream.writeSSE({ id, event, data: JSON.stringify(data) })
      }
    } finally {
      clearInterval(heartbeat)
    }
  })
}

/** Whether a request wants a stream: by its Accept header or `?follow=true`. */
export const wantsStream = (c: Context, follow: boolean | undefined): boolean =>
  follow ?? (c.req.header("accept") ?? "").toLowerCase().includes("text/event-stream")
