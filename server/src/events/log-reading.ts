/**
 * Reads the log of a run for one subscriber: the past for one that comes back, and what it did not take in time for one
 * that is behind. It ends at the place where the log meets what is live, without hole or repeat.
 */
import { encodeEvent, isGap, missedEvent, type RunEvent } from "./event.js"
import type { LoggedEvent } from "./queries.js"
import type { RunStream, Subscriber } from "./run-stream.js"

export interface LogReading {
  readonly stream: RunStream
  /** It reads past the stream (`RunStream.readPast`). */
  readonly subscriber: Subscriber
  /** The last id that it has; -1 for the beginning. */
  readonly after: number
  /** Resolves when what has been appended here so far can be read. */
  readonly flushed: () => Promise<void>
  /** A page of the log after an id, oldest first. */
  readonly read: (after: number) => Promise<LoggedEvent[]>
  /** Whether there may be more after this page. */
  readonly isFull: (page: readonly LoggedEvent[]) => boolean
  /** Whether a client that has this event has the whole stream. */
  readonly isEnd: (seq: number) => Promise<boolean>
}

/**
 * @returns `live` when the subscriber follows the stream again; `over` when the log has the run's end, or `after` is that
 *          end: the subscriber is to be ended; `left` when it has gone
 */
export async function readLog(reading: LogReading): Promise<"live" | "over" | "left"> {
  const { stream, subscriber, after, flushed, read, isFull, isEnd } = reading
  let position = after
  for (let isHolding = false; ; ) {
    // A slow reader keeps its place in the log, and holds no memory here.
    if (!isHolding) await subscriber.drained?.()
    await flushed()
    const page = await read(position)
    // Its client may have left while the page was on its way.
    if (!stream.has(subscriber)) return "left"
    if (page.length === 0 && position === after && (await isEnd(after))) return "over"
    for (const { seq, event, data } of page) {
      if (isGap(position, seq)) send(subscriber, missedEvent(stream.runId, position, seq))
      send(subscriber, { seq, event, data: Buffer.from(data) })
      position = seq
      if (event === "end") return "over"
    }
    const isLast = !isFull(page)
    if (isLast && isHolding) break
    if (isLast) stream.hold(subscriber)
    // So much came meanwhile that it is read from the log rather than held.
    else if (isHolding) stream.readPast(subscriber)
    isHolding = isLast
  }
  stream.release(subscriber, position)
  return "live"
}

function send(subscriber: Subscriber, event: RunEvent): void {
  if (!subscriber.accepts(event.event)) return
  const encoded = encodeEvent(event)
  subscriber.write(encoded.bytes, [encoded])
}
