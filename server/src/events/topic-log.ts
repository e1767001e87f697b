/**
 * Reads the log of one topic for its subscribers here: past events for a subscriber that reconnects, events that a slow
 * subscriber did not read in time, and for all of them events that another server appends. At the switch from the log to
 * live events there is no gap and no repeat.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import type { Log } from "@superstep/toolkit/log/log"
import type { Position, TopicEvent } from "./event.js"
import { LogTail } from "./log-tail.js"
import type { AppendedEvents, LoggedEvent, Page } from "./queries.js"
import type { Subscriber, Topic } from "./topic.js"

/** Where the events of a topic are stored. */
export interface LogSource {
  /** Events after a place, oldest first. */
  page(after: number): Promise<Page>
  /** The place of the last event; -1 when there is none. */
  lastPlace(): Promise<number>
  /** Whether the event at this place is the topic's last one. */
  isEndAt(place: number): Promise<boolean>
  /** Resolves when all events that this process has appended so far can be read. */
  flushed(): Promise<void>
}

export interface TopicLogOptions {
  readonly topic: Topic
  readonly source: LogSource
  readonly log: Log
  /** Whether the topic's events are published in this process, so that its log need not be tailed. */
  readonly isLive: () => boolean
  /** Called when the tail has read the topic's last event. */
  readonly onEnd: () => void
}

/**
 * `live` when the subscriber gets live events again; `over` when it has read the topic's end, or already had it, and must
 * be ended; `left` when it has left.
 */
export type Outcome = "live" | "over" | "left"

// Long enough for a database to recover, short enough for a client that waits.
const retryDelayMs = 250

export class TopicLog {
  readonly #options: TopicLogOptions
  #tail: LogTail | undefined
  /** How often tailing has stopped, for example because this process took the run over. */
  #takeovers = 0
  /** The log got new events while it was not tailed here. */
  #isWokenEarly = false
  #isClosed = false

  constructor(options: TopicLogOptions) {
    this.#options = options
  }

  /** The place up to which the tailed log was read; undefined when it is not tailed. */
  get tailedTo(): number | undefined {
    return this.#tail?.place
  }

  /**
   * Publishes in the topic, from now on, events that another server appends.
   * @param from  the place after which to start; by default the log's present end, since joining gives no past events
   */
  async startTailing(from?: number): Promise<void> {
    if (this.#isServed()) return
    const { topic, source, log } = this.#options
    const place = from ?? (await source.lastPlace())
    if (this.#isServed()) return
    this.#tail = new LogTail({
      place,
      log,
      read: async (after) => (await source.page(after)).events,
      onEvent: (event) => this.#publish(topic, event),
    })
    // A notification may have arrived while the place was being read.
    if (from !== undefined || this.#isWokenEarly) this.#tail.wake()
    this.#isWokenEarly = false
  }

  /** Called when the log may have new events. */
  wake(): void {
    if (this.#tail) this.#tail.wake()
    else this.#isWokenEarly = true
  }

  /** Called when this process has appended events to the log. */
  take(appended: AppendedEvents): void {
    if (!this.#tail) {
      this.#isWokenEarly = true
      return
    }
    this.#tail.take(appended)
    this.#options.topic.flush()
  }

  /** Called when the topic's events come from another source from now on. */
  stopTailing(): void {
    this.#takeovers += 1
    this.#tail?.stop()
    this.#tail = undefined
  }

  /** Called when the topic has no subscribers any more. */
  close(): void {
    this.#isClosed = true
    this.stopTailing()
  }

  /** Sends a subscriber the log after a position, then live events. */
  async replay(subscriber: Subscriber, from: Position): Promise<Outcome> {
    const { topic, source } = this.#options
    topic.readPast(subscriber)
    await this.startTailing()
    // The first page is usually the last one.
    topic.hold(subscriber)
    return this.#read(subscriber, { ...from, isHeld: true }, (after) => source.page(after))
  }

  /**
   * Like `replay`, for a subscriber that is behind: it continues from its present place, and retries during an outage of the
   * database.
   * @param least  a place up to which the subscriber already has everything
   */
  async catchUp(subscriber: Subscriber, least = -1): Promise<Outcome> {
    const { topic, source } = this.#options
    const { place, last } = topic.readPast(subscriber)
    const from = { place: Math.max(place, least), last }
    return this.#read(subscriber, from, async (after) => {
      for (;;) {
        try {
          return await source.page(after)
        } catch (error) {
          if (!isPassing(error) || !topic.has(subscriber)) throw error
          await sleep(retryDelayMs)
        }
      }
    })
  }

  #isServed(): boolean {
    return this.#isClosed || this.#tail !== undefined || this.#options.isLive()
  }

  #publish(topic: Topic, event: LoggedEvent): void {
    topic.publish(toTopicEvent(event))
    if (topic.kind.isLast?.(event.event)) this.#options.onEnd()
  }

  /** @param from  `isHeld`: new events are held for the subscriber already */
  async #read(
    subscriber: Subscriber,
    from: Position & { readonly isHeld?: boolean },
    page: LogSource["page"],
  ): Promise<Outcome> {
    const { topic, source } = this.#options
    const { last, isHeld = false } = from
    let { place } = from
    for (let isHolding = isHeld; ; ) {
      // A slow reader waits at its place in the log and holds no memory here.
      if (!isHolding) await subscriber.drained?.()
      await source.flushed()
      const takeovers = this.#takeovers
      const { events, isLast: isLastPage } = await page(place)
      // The previous server of the run may have appended more after this page, and nothing here reads that any more.
      const isLast = isLastPage && takeovers === this.#takeovers
      // The client may have left while the page was being read.
      if (!topic.has(subscriber)) return "left"
      if (place === from.place && (await source.isEndAt(place))) return "over"
      for (const logged of events) {
        const event = toTopicEvent(logged)
        const gap = last.next(event)
        if (gap) topic.send(subscriber, gap)
        topic.send(subscriber, event)
        place = event.place
        if (topic.kind.isLast?.(event.event)) return "over"
      }
      if (isLast && isHolding) break
      if (isLast) topic.hold(subscriber)
      // Too many events came meanwhile to hold them, so read them from the log.
      else if (isHolding) topic.readPast(subscriber)
      isHolding = isLast
    }
    topic.release(subscriber, { place, last })
    return "live"
  }
}

const toTopicEvent = ({ data, ...event }: LoggedEvent): TopicEvent => ({ ...event, data: Buffer.from(data) })
