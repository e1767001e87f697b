/** All topics of one kind (runs, or threads) that have subscribers in this process. */
import type { Log } from "@superstep/toolkit/log/log"
import type { Position } from "./event.js"
import type { AppendedEvents, TailedTopic } from "./queries.js"
import { type JoinedAt, type Subscriber, Topic, type TopicKind } from "./topic.js"
import { type LogSource, type Outcome, TopicLog } from "./topic-log.js"

export interface TopicsOptions {
  readonly kind: TopicKind
  readonly log: Log
  source(id: string): LogSource
  /** Whether the events of this topic are published in this process. */
  isLive(id: string): boolean
  /** Whether the events of this topic are in its log, where a slow subscriber can read them. */
  isLogged(id: string): boolean
}

interface Entry {
  readonly topic: Topic
  readonly eventLog: TopicLog
}

export class Topics {
  readonly #options: TopicsOptions
  readonly #topics = new Map<string, Entry>()

  constructor(options: TopicsOptions) {
    this.#options = options
  }

  /** How many topics have subscribers here. */
  get size(): number {
    return this.#topics.size
  }

  /** Whether this topic has subscribers here. */
  has(id: string): boolean {
    return this.#topics.get(id)?.topic.isEmpty === false
  }

  /** The topic; undefined when it has no subscribers here. */
  get(id: string): Topic | undefined {
    return this.#topics.get(id)?.topic
  }

  ids(): string[] {
    return [...this.#topics.keys()]
  }

  /** Topics whose log is tailed, each with the place read last. */
  tailed(): TailedTopic[] {
    return [...this.#topics].flatMap(
      ([
        id,
        {
          eventLog: { tailedTo: place },
        },
      ]) => (place === undefined ? [] : [{ id, place }]),
    )
  }

  /** Topics whose log is being read for a subscriber. */
  readFromLog(): string[] {
    return [...this.#topics].flatMap(([id, { topic }]) => (topic.isReadFromLog ? [id] : []))
  }

  /** Adds a subscriber, which gets events from now on (S1). */
  subscribe(id: string, subscriber: Subscriber, at: JoinedAt = {}): void {
    this.#open(id).topic.add(subscriber, at)
  }

  unsubscribe(id: string, subscriber: Subscriber): void {
    const entry = this.#topics.get(id)
    entry?.topic.remove(subscriber)
    if (entry?.topic.isEmpty) this.#close(id, entry)
  }

  /**
   * Publishes in the topic what another server appends to its log. Call it before asking which server appends (B2).
   * @param from  as in `TopicLog.startTailing`
   */
  async tail(id: string, from?: number): Promise<void> {
    await this.#topics.get(id)?.eventLog.startTailing(from)
  }

  /**
   * Sends a subscriber the log after a position, then live events, without a gap or a repeat.
   * @returns false when the subscriber gets nothing more: it was ended, or has left
   */
  async replay(id: string, subscriber: Subscriber, from: Position): Promise<boolean> {
    return this.#settle(id, subscriber, await this.#open(id).eventLog.replay(subscriber, from))
  }

  /** Ends all live subscribers of the topic. */
  end(id: string): void {
    const entry = this.#topics.get(id)
    if (!entry) return
    entry.topic.end()
    entry.eventLog.stopTailing()
    if (entry.topic.isEmpty) this.#close(id, entry)
  }

  /** Breaks off all subscribers: their clients should reconnect to another server. */
  breakAll(reason: Error): void {
    for (const [id, entry] of [...this.#topics]) {
      entry.topic.break(reason)
      this.#close(id, entry)
    }
  }

  /** Called when the log of this topic may have new events. */
  wake(id: string): void {
    this.#topics.get(id)?.eventLog.wake()
  }

  /** Called when this process has appended events to the log of this topic. */
  take(id: string, appended: AppendedEvents): void {
    this.#topics.get(id)?.eventLog.take(appended)
  }

  wakeAll(): void {
    for (const { eventLog } of this.#topics.values()) eventLog.wake()
  }

  /**
   * Called when this process publishes the topic's events from now on. Where the log was tailed, subscribers first read it to its end: a
   * server that died between a commit and its hint has not announced its last events.
   * @param hasLog  whether the log may contain events yet
   */
  takeOver(id: string, { hasLog }: { readonly hasLog: boolean }): void {
    const entry = this.#topics.get(id)
    if (entry === undefined) return
    const place = entry.eventLog.tailedTo
    entry.eventLog.stopTailing()
    if (place === undefined || !hasLog) return
    for (const subscriber of entry.topic.subscribersUpToDate())
      void this.#catchUp(id, entry.eventLog, subscriber, place)
  }

  /** Lets slow subscribers read from the log where there is one (B7); else the run waits for them (B6). */
  catchUp(id: string): void {
    const entry = this.#topics.get(id)
    if (!entry || (entry.eventLog.tailedTo === undefined && !this.#options.isLogged(id))) return
    for (const subscriber of entry.topic.behind()) void this.#catchUp(id, entry.eventLog, subscriber)
  }

  async #catchUp(id: string, eventLog: TopicLog, subscriber: Subscriber, least?: number): Promise<void> {
    try {
      this.#settle(id, subscriber, await eventLog.catchUp(subscriber, least))
    } catch (err) {
      this.#options.log.warn({ err, topic: id }, "the remaining events could not be sent to a slow client")
      this.unsubscribe(id, subscriber)
      subscriber.break?.(err as Error)
    }
  }

  #settle(id: string, subscriber: Subscriber, outcome: Outcome): boolean {
    const entry = this.#topics.get(id)
    const isThere = entry?.topic.has(subscriber) === true
    if (outcome === "over") {
      this.unsubscribe(id, subscriber)
      subscriber.end()
    }
    // The topic itself ends a subscriber that was reading at the topic's end and has not found that in the log.
    else if (entry?.topic.isEmpty) this.#close(id, entry)
    return outcome === "live" && isThere
  }

  #open(id: string): Entry {
    const entry = this.#topics.get(id) ?? this.#create(id)
    this.#topics.set(id, entry)
    return entry
  }

  #create(id: string): Entry {
    const { kind, log, source, isLive } = this.#options
    const topic = new Topic(kind, () => this.catchUp(id))
    const options = { topic, source: source(id), log, isLive: () => isLive(id), onEnd: () => this.end(id) }
    return { topic, eventLog: new TopicLog(options) }
  }

  #close(id: string, { eventLog }: Entry): void {
    eventLog.close()
    this.#topics.delete(id)
  }
}
