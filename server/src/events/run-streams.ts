/**
 * All live streams of this process. A run that executes here publishes into its stream directly; one that executes in
 * another server is followed through the event log and its notifications. To a subscriber both look the same.
 *
 * B1 Who executes a run logs its events when the run is resumable or another server watches it (`watched_by`).
 * B2 A server begins to follow before it tells that it watches, so that nothing which is logged for it falls between.
 * B3 The end of a watched run is in the log, or the run is over in the table: a follower never waits in vain.
 * B4 What a detached publisher still gets reaches nobody: another attempt has the stream.
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import { encodeEvent, firstSeq, lastSeq, type RunEvent, resultEvent } from "./event.js"
import { EventLog } from "./event-log.js"
import { Follower } from "./follower.js"
import { eventsAfter, isEndAt, isFull, lastLoggedSeq } from "./queries.js"
import { RunStream, type Subscriber } from "./run-stream.js"
import { WatchedThreads } from "./watched-threads.js"

// A page of the past: large enough to be quick, small enough not to hold much memory.
const pageSize = 1000

export interface Result {
  /** JSON text; made only when somebody waits. */
  readonly text: () => string
  /** Nothing of the run is left in the database, so that servers whose clients wait for it must be told. */
  readonly isOnlyCopy: boolean
}

/** The writing end of a run that executes here. */
export interface Publisher {
  /**
   * @param data  one line of JSON; a Buffer is used during the call only
   * @returns what to wait for before more is published, when the log is far behind
   */
  publish(event: string, data: Buffer | string): Promise<void> | undefined
  /**
   * Sends `end` and closes the stream; resolves once the log, if there is one, has it.
   * @param result  for those who wait for it
   */
  end(status: string, result?: Result): Promise<void>
  /** Closes the writing end without an end event: the run goes on in another attempt. */
  detach(): void
  /** Starts logging, because another server watches. */
  startLogging(): void
  /** Starts logging, because somebody follows the thread: the log has to have the run's beginning. */
  startThreadLog(): void
  readonly threadId: string
  readonly isLogged: boolean
}

export interface StartedRun {
  readonly runId: string
  readonly threadId: string
  readonly attempt: number
  readonly isResumable: boolean
  readonly watchedBy: readonly string[]
}

export interface RunStreamsOptions {
  readonly db: Database
  readonly log: Log
  readonly serverId: string
  /** How long the runs of a thread are logged after its last client left, in milliseconds. */
  readonly threadTtlMs?: number
}

// As long as the log of a run stays after its end, unless the setting says otherwise.
const usualThreadTtlMs = 120_000

export class RunStreams {
  readonly #db: Database
  readonly #serverId: string
  readonly #eventLog: EventLog
  readonly #log: Log
  readonly #streams = new Map<string, RunStream>()
  readonly #publishers = new Map<string, Publisher>()
  readonly #followers = new Map<string, Follower>()
  /** Runs that another server watches and that are not, or not yet, executed here. */
  readonly #early = new Set<string>()
  #subscriptions: Subscription[] = []
  /** Threads whose runs are logged because somebody follows the thread. */
  readonly threads: WatchedThreads

  constructor({ db, log, serverId, threadTtlMs = usualThreadTtlMs }: RunStreamsOptions) {
    this.#db = db
    this.#log = log
    this.#serverId = serverId
    this.#eventLog = new EventLog(db, log)
    const onWatched = (threadId: string) => {
      for (const publisher of this.#publishers.values()) {
        if (publisher.threadId === threadId) publisher.startThreadLog()
      }
    }
    this.threads = new WatchedThreads({ db, log, ttlMs: threadTtlMs, onWatched })
  }

  async start(): Promise<void> {
    const lookAgain = () => {
      for (const follower of this.#followers.values()) follower.wake()
    }
    this.#subscriptions = [
      await this.#db.listen("run_events", (runId) => this.#followers.get(runId)?.wake(), lookAgain),
      await this.#db.listen("run_watched", (payload) => this.#onWatched(payload)),
    ]
    await this.threads.start()
  }

  async close(): Promise<void> {
    await this.threads.close()
    for (const subscription of this.#subscriptions) await subscription.close()
    for (const runId of this.#followers.keys()) this.#stopFollowing(runId)
    for (const stream of this.#streams.values()) stream.end()
    await this.#eventLog.close()
  }

  get openStreams(): number {
    return this.#streams.size
  }

  isExecuting(runId: string): boolean {
    return this.#publishers.has(runId)
  }

  /**
   * Resolves when every event that a logged run has published so far is committed; undefined for a run without a log.
   * A checkpoint must not commit before the events that led to it, else a crash leaves a hole (architecture D4).
   * @throws Unavailable  when they never will be: the server stops, and the run is attempted again
   */
  untilLogged(runId: string): Promise<void> | undefined {
    return this.#publishers.get(runId)?.isLogged ? this.#eventLog.flushed() : undefined
  }

  hasSubscribers(runId: string): boolean {
    return this.#streams.get(runId)?.isEmpty === false
  }

  /** Whether a client here wants events of this name. */
  wants(runId: string, event: string): boolean {
    return this.#streams.get(runId)?.wants(event) ?? false
  }

  /** Adds a subscriber to what comes from now on (S1). @param after  events up to this id are not for it */
  subscribe(runId: string, subscriber: Subscriber, after = -1): void {
    this.#open(runId).add(subscriber, after)
  }

  unsubscribe(runId: string, subscriber: Subscriber): void {
    const stream = this.#streams.get(runId)
    stream?.remove(subscriber)
    if (!stream?.isEmpty) return
    this.#streams.delete(runId)
    this.#stopFollowing(runId)
  }

  /** Runs that clients of this server follow in the event log. */
  followedRuns(): string[] {
    return [...this.#followers.keys()]
  }

  /** Ends all that follow a run which is over, unless its end came on another way before. */
  endAll(runId: string, status: string): void {
    this.#streams.get(runId)?.publish({ seq: lastSeq, event: "end", data: endData(runId, status) })
    this.#endStream(runId)
  }

  /** Ends one subscriber with an end event, if nothing has ended it yet. */
  endSubscriber(runId: string, subscriber: Subscriber, status: string): void {
    if (!this.#streams.get(runId)?.has(subscriber)) return
    send(subscriber, { seq: lastSeq, event: "end", data: endData(runId, status) })
    this.unsubscribe(runId, subscriber)
    subscriber.end()
  }

  /**
   * Follows a run that executes elsewhere. Call before telling its server (B2).
   * @param from  the id after which to begin; the log's present end unless told, since joining gives nothing from before
   */
  async follow(runId: string, from?: number): Promise<void> {
    if (this.#isServed(runId)) return
    const position = from ?? (await lastLoggedSeq(this.#db, runId))
    if (this.#isServed(runId) || !this.#streams.has(runId)) return
    const follower = new Follower({
      position,
      log: this.#log,
      read: (after) => eventsAfter(this.#db, runId, after, pageSize),
      onEvent: (event) => this.#streams.get(runId)?.publish(event),
      onEnd: () => this.#endStream(runId),
    })
    this.#followers.set(runId, follower)
    // A notification may have come while the position was being read.
    follower.wake()
  }

  /** Whether the log has events of a run. */
  async hasLog(runId: string): Promise<boolean> {
    return (await lastLoggedSeq(this.#db, runId)) >= 0
  }

  /**
   * Gives a subscriber the log after an id, then what comes live, without hole or repeat.
   * @param after  the last id it has; -1 for the beginning
   * @returns false when the subscriber was ended, since the log has the run's end or `after` is that end
   */
  async replay(runId: string, subscriber: Subscriber, after: number): Promise<boolean> {
    const stream = this.#open(runId)
    stream.readPast(subscriber)
    await this.follow(runId)
    let position = after
    for (let isHolding = false; ; ) {
      await this.#eventLog.flushed()
      const page = await eventsAfter(this.#db, runId, position, pageSize)
      // Its client may have left while the page was on its way.
      if (!stream.has(subscriber)) return false
      if (page.length === 0 && position === after && (await this.#isEnd(runId, after))) {
        this.unsubscribe(runId, subscriber)
        subscriber.end()
        return false
      }
      for (const { seq, event, data } of page) {
        send(subscriber, { seq, event, data: Buffer.from(data) })
        position = seq
        if (event !== "end") continue
        this.unsubscribe(runId, subscriber)
        subscriber.end()
        return false
      }
      const isLast = !isFull(page, pageSize)
      if (isLast && isHolding) break
      if (isLast) stream.hold(subscriber)
      // So much came meanwhile that it is read from the log rather than held.
      else if (isHolding) stream.readPast(subscriber)
      isHolding = isLast
      // Who reads slowly keeps its place in the log, and holds no memory here.
      if (!isHolding) await subscriber.drained?.()
    }
    stream.release(subscriber, position)
    return true
  }

  /** Opens the writing end: the run executes here from now on. */
  begin({ runId, threadId, attempt, isResumable, watchedBy }: StartedRun): Publisher {
    this.#stopFollowing(runId)
    this.#publishers.get(runId)?.detach()
    let seq = firstSeq(attempt)
    let isDetached = false
    let isFollowed = this.#early.delete(runId) || this.isWatchedElsewhere(watchedBy)
    let isLogged = isResumable || isFollowed || this.threads.isWatched(threadId)
    const publish = (event: string, data: Buffer | string) => {
      if (isDetached) return undefined
      const item = { seq: seq++, event, data: typeof data === "string" ? Buffer.from(data) : data }
      this.#streams.get(runId)?.publish(item)
      return isLogged ? this.#eventLog.append(runId, item) : undefined
    }
    const detach = () => {
      isDetached = true
      if (this.#publishers.get(runId) === publisher) this.#publishers.delete(runId)
    }
    const tellResult = ({ text, isOnlyCopy }: Result) => {
      if (isFollowed && isOnlyCopy) publish(resultEvent, text())
      // It takes no id: to clients of the stream it would be a hole.
      else if (this.wants(runId, resultEvent))
        this.#streams.get(runId)?.publish({ seq, event: resultEvent, data: Buffer.from(text()) })
    }
    const end = async (status: string, result?: Result) => {
      if (isDetached) return
      if (result) tellResult(result)
      publish("end", endData(runId, status))
      detach()
      this.#endStream(runId)
      // Given up, the log has said so; the table has this end (B3).
      if (isLogged) await this.#eventLog.flushed().catch(() => undefined)
    }
    const publisher: Publisher = {
      threadId,
      publish,
      end,
      detach,
      startLogging: () => {
        isFollowed = true
        isLogged = true
      },
      startThreadLog: () => {
        if (isLogged) return
        isLogged = true
        const data = Buffer.from(metadataText(runId, attempt))
        this.#eventLog.append(runId, { seq: firstSeq(attempt), event: "metadata", data })
      },
      get isLogged() {
        return isLogged
      },
    }
    this.#publishers.set(runId, publisher)
    return publisher
  }

  /** Whether a server other than this one has clients of a run. */
  isWatchedElsewhere(watchedBy: readonly string[]): boolean {
    return watchedBy.some((serverId) => serverId !== this.#serverId)
  }

  /** Tells everybody, also clients of other servers, that a run which was not executing is over. */
  async announceEnd(runId: string, status: string, error?: string): Promise<void> {
    const end = { seq: lastSeq, event: "end", data: endData(runId, status) }
    const failure = { seq: lastSeq - 1, event: "error", data: Buffer.from(error ?? "") }
    for (const event of error === undefined ? [end] : [failure, end]) {
      this.#streams.get(runId)?.publish(event)
      this.#eventLog.append(runId, event)
    }
    this.#endStream(runId)
    await this.#eventLog.flushed()
  }

  /** What cannot be logged any more is given up: the server stops, and the database may be away. */
  stopWaiting(): void {
    void this.#eventLog.close()
  }

  /** Whether a client that has this event has the whole stream. */
  async #isEnd(runId: string, seq: number): Promise<boolean> {
    return seq >= lastSeq || (seq >= 0 && (await isEndAt(this.#db, runId, seq)))
  }

  /** Whether its events come into this process already. */
  #isServed(runId: string): boolean {
    return this.#publishers.has(runId) || this.#followers.has(runId)
  }

  #open(runId: string): RunStream {
    const stream = this.#streams.get(runId) ?? new RunStream(runId)
    this.#streams.set(runId, stream)
    return stream
  }

  #endStream(runId: string): void {
    const stream = this.#streams.get(runId)
    stream?.end()
    if (stream?.isEmpty) this.#streams.delete(runId)
    this.#stopFollowing(runId)
  }

  #stopFollowing(runId: string): void {
    this.#followers.get(runId)?.stop()
    this.#followers.delete(runId)
  }

  #onWatched(payload: string): void {
    const [runId = "", watcher] = payload.split(" ")
    if (watcher === this.#serverId) return
    const publisher = this.#publishers.get(runId)
    if (publisher) publisher.startLogging()
    // It may be of a run whose claim is on its way to us; else the note only takes room until the next renewal.
    else this.#early.add(runId)
  }

  /** Forgets who was announced for runs that never came here. */
  forgetEarlyWatchers(): void {
    this.#early.clear()
  }
}

function send(subscriber: Subscriber, event: RunEvent): void {
  if (!subscriber.accepts(event.event)) return
  const encoded = encodeEvent(event)
  subscriber.write(encoded.bytes, [encoded])
}

/** What the first event of an attempt says (agent-server-api §7.3). */
export const metadataText = (runId: string, attempt: number): string => JSON.stringify({ run_id: runId, attempt })

const endData = (runId: string, status: string): Buffer => Buffer.from(JSON.stringify({ run_id: runId, status }))
