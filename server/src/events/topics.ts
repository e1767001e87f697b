/** All topics of one kind (runs, or threads) that have subscribers in this process. */
import type { Log } from "@superstep/toolkit/log/log"
import type { Position, TopicEvent } from "./event.js"
import type { AppendedEvents, FollowedTopic } from "./queries.js"
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

interface Followed {
  readonly topic: Topic
  readonly log: TopicLog
}

export class Topics {
  readonly #options: TopicsOptions
  readonly #followed = new Map<string, Followed>()

  constructor(options: TopicsOptions) {
    this.#options = options
  }

  /** How many topics have subscribers here. */
  get size(): number {
    return this.#followed.size
  }

  /** Whether this topic has subscribers here. */
  has(id: string): boolean {
    return this.#followed.get(id)?.topic.isEmpty === false
  }

  /** The topic; undefined when it has no subscribers here. */
  get(id: string): Topic | undefined {
    return this.#followed.get(id)?.topic
  }

  ids(): string[] {
    return [...this.#followed.keys()]
  }

  /** Topics that are followed in the log, each with the place read last. */
  followedInLog(): FollowedTopic[] {
    return [...this.#followed].flatMap(
      ([
        id,
        {
          log: { followedTo: place },
        },
      ]) => (place === undefined ? [] : [{ id, place }]),
    )
  }

  /** Topics whose log is being read for a subscriber. */
  readFromLog(): string[] {
    return [...this.#followed].flatMap(([id, { topic }]) => (topic.isReadFromLog ? [id] : []))
  }

  /** Adds a subscriber, which gets events from now on (S1). */
  subscribe(id: string, subscriber: Subscriber, at: JoinedAt = {}): void {
    this.#open(id).topic.add(subscriber, at)
  }

  unsubscribe(id: string, subscriber: Subscriber): void {
    const followed = this.#followed.get(id)
    followed?.topic.remove(subscriber)
    if (followed?.topic.isEmpty) this.#close(id, followed)
  }

  /**
   * Publishes in the topic what another server appends to its log. Call it before asking which server appends (B2).
   * @param from  as in `TopicLog.follow`
   */
  async follow(id: string, from?: number): Promise<void> {
    await this.#followed.get(id)?.log.follow(from)
  }

  /**
   * Sends a subscriber the log after a position, then live events, without a gap or a repeat.
   * @returns false when the subscriber gets nothing more: it was ended, or has left
   */
  async replay(id: string, subscriber: Subscriber, from: Position): Promise<boolean> {
    return this.#settle(id, subscriber, await this.#open(id).log.replay(subscriber, from))
  }

  publish(id: string, event: TopicEvent): void {
    this.get(id)?.publish(event)
  }

  /** Ends all live subscribers of the topic. */
  end(id: string): void {
    const followed = this.#followed.get(id)
    if (!followed) return
    followed.topic.end()
    followed.log.stopFollowing()
    if (followed.topic.isEmpty) this.#close(id, followed)
  }

  /** Breaks off all subscribers: their clients should reconnect to another server. */
  breakAll(reason: Error): void {
    for (const [id, followed] of [...this.#followed]) {
      followed.topic.break(reason)
      this.#close(id, followed)
    }
  }

  /** Called when the log of this topic may have new events. */
  wake(id: string): void {
    this.#followed.get(id)?.log.wake()
  }

  /** Called when this process has appended events to the log of this topic. */
  take(id: string, appended: AppendedEvents): void {
    this.#followed.get(id)?.log.take(appended)
  }

  wakeAll(): void {
    for (const { log } of this.#followed.values()) log.wake()
  }

  /**
   * Called when this process publishes the topic's events from now on. Subscribers that followed the log first read it to its end: a server
   * that died between a commit and its hint has not announced its last events.
   * @param hasLog  whether the log may contain events yet
   */
  takeOver(id: string, { hasLog }: { readonly hasLog: boolean }): void {
    const followed = this.#followed.get(id)
    if (followed === undefined) return
    const place = followed.log.followedTo
    followed.log.stopFollowing()
    if (place === undefined || !hasLog) return
    for (const subscriber of followed.topic.followers()) void this.#catchUp(id, followed.log, subscriber, place)
  }

  /** Lets slow subscribers read from the log where there is one (B7); else the run waits for them (B6). */
  catchUp(id: string): void {
    const followed = this.#followed.get(id)
    if (!followed || !this.#isLogged(id, followed)) return
    for (const subscriber of followed.topic.behind()) void this.#catchUp(id, followed.log, subscriber)
  }

  #isLogged(id: string, { log }: Followed): boolean {
    return log.followedTo !== undefined || this.#options.isLogged(id)
  }

  async #catchUp(id: string, log: TopicLog, subscriber: Subscriber, least?: number): Promise<void> {
    try {
      this.#settle(id, subscriber, await log.catchUp(subscriber, least))
    } catch (err) {
      this.#options.log.warn({ err, topic: id }, "the remaining events could not be sent to a slow client")
      this.unsubscribe(id, subscriber)
      subscriber.break?.(err as Error)
    }
  }

  #settle(id: string, subscriber: Subscriber, outcome: Outcome): boolean {
    if (outcome === "over") {
      this.unsubscribe(id, subscriber)
      subscriber.end()
    }
    return outcome === "live"
  }

  #open(id: string): Followed {
    const followed = this.#followed.get(id) ?? this.#create(id)
    this.#followed.set(id, followed)
    return followed
  }

  #create(id: string): Followed {
    const { kind, log, source, isLive } = this.#options
    const topic = new Topic(kind, () => this.catchUp(id))
    const options = { topic, source: source(id), log, isLive: () => isLive(id), onEnd: () => this.end(id) }
    return { topic, log: new TopicLog(options) }
  }

  #close(id: string, { log }: Followed): void {
    log.close()
    this.#followed.delete(id)
  }
}
