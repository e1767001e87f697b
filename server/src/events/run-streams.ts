/**
 * All live streams of this process. A run that executes here publishes into its stream; one that executes in another
 * server is followed through the event log and its notifications. To a subscriber both look the same.
 *
 * B1, B4, B5 and B6 are about runs that execute here: `publisher.ts`.
 * B2 A server begins to follow before it tells that it watches, so that nothing which is logged for it falls between.
 * B3 The end of a run with a log is committed with its status. Where it is not (a run that waited was stopped, or its
 *    server died in between), a client that joins writes it, or the sweep does. So no client waits for ever.
 * B7 A subscriber that is behind reads the log where the run has one. So it delays nobody, and holds no memory here.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Database } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import type { Log } from "@superstep/toolkit/log/log"
import { lastSeq } from "./event.js"
import { EventLog } from "./event-log.js"
import { Follower } from "./follower.js"
import { readLog } from "./log-reading.js"
import { endText, type StartedRun as PublishedRun, Publisher } from "./publisher.js"
import { eventsAfter, isEndAt, isFull, type LoggedEvent, lastLogged, lastLoggedSeq } from "./queries.js"
import { ReaderBudget } from "./reader-budget.js"
import { type JoinedAt, RunStream, type Subscriber } from "./run-stream.js"
import { WatchedThreads } from "./watched-threads.js"

// A page of the past: large enough to be quick, small enough not to hold much memory.
const pageSize = 1000
// Long enough for a database to come back, short enough for a client that waits.
const retryDelayMs = 250
// What a client that reads at the speed of a usual connection needs for some tens of megabytes; little beside what a run
// may take in all.
const usualPatienceMs = 10_000
// As long as the log of a run stays after its end, unless the setting says otherwise.
const usualThreadTtlMs = 120_000

export interface StartedRun extends PublishedRun {
  readonly isResumable: boolean
  readonly watchedBy: readonly string[]
  readonly followedMs?: number | null
}

export interface RunStreamsOptions {
  readonly db: Database
  readonly log: Log
  readonly serverId: string
  /** How long the runs of a thread are logged after its last client left, in milliseconds. */
  readonly threadTtlMs?: number
  /** How long a run without a log may wait for clients that are behind, in all, in milliseconds (B6). */
  readonly patienceMs?: number
}

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
  readonly #patienceMs: number
  #subscriptions: Subscription[] = []
  /** For the clients of all streams here. */
  readonly readers = new ReaderBudget()
  /** Threads whose runs are logged because somebody follows the thread. */
  readonly threads: WatchedThreads

  constructor(options: RunStreamsOptions) {
    const { db, log, serverId, threadTtlMs = usualThreadTtlMs, patienceMs = usualPatienceMs } = options
    this.#patienceMs = patienceMs
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
    for (const stream of this.#streams.values()) stream.break(new Error("the server stops"))
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
    return this.#publishers.get(runId)?.isLogged ? this.#eventLog.flushed(runId) : undefined
  }

  /** Resolves when what this process has published of a run is in the log, if it is logged, or is given up. */
  async untilPublished(runId: string): Promise<void> {
    // Events that were given up were not published either.
    await this.#eventLog.flushed(runId).catch(() => undefined)
  }

  hasSubscribers(runId: string): boolean {
    return this.#streams.get(runId)?.isEmpty === false
  }

  /** Whether a client here wants events of this name. */
  wants(runId: string, event: string): boolean {
    return this.#streams.get(runId)?.wants(event) ?? false
  }

  /** Adds a subscriber to what comes from now on (S1). */
  subscribe(runId: string, subscriber: Subscriber, at: JoinedAt = {}): void {
    this.#open(runId).add(subscriber, at)
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

  /** Runs whose logs are being read for clients of this server. */
  runsReadFromLog(): string[] {
    return [...this.#streams].flatMap(([runId, { isReadFromLog }]) => (isReadFromLog ? [runId] : []))
  }

  /** Ends all that follow a run which is over, unless its end came on another way before. */
  endAll(runId: string, status: string): void {
    this.#streams.get(runId)?.publish({ seq: lastSeq, event: "end", data: Buffer.from(endText(runId, status)) })
    this.#endStream(runId)
  }

  /**
   * Ends one subscriber with an end event, if nothing has ended it yet.
   * @param lastSeen  the last event that its client has, when more may be missing
   */
  endSubscriber(runId: string, subscriber: Subscriber, status: string, lastSeen?: number): void {
    const end = { seq: lastSeq, event: "end", data: Buffer.from(endText(runId, status)) }
    this.#streams.get(runId)?.endOne(subscriber, end, lastSeen)
    this.unsubscribe(runId, subscriber)
  }

  /**
   * A run is over, and a subscriber has read its log. The end is in there, committed with the run's status; else who ended
   * the run died before it could write it, and it is written now.
   * @param after  the last event that the client has; -1 for none
   * @param error  JSON text: why the run failed
   */
  async endReader(
    subscriber: Subscriber,
    { runId, after, status, error }: { runId: string; after: number; status: string; error?: string | undefined },
  ): Promise<void> {
    const last = await lastLogged(this.#db, runId)
    if (last === undefined) this.endSubscriber(runId, subscriber, status, after < 0 ? undefined : after)
    else if (last.event !== "end") await this.announceEnd(runId, status, error)
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

  /**
   * Gives a subscriber the log after an id, then what comes live, without hole or repeat.
   * @param after  the last id it has; -1 for the beginning
   * @returns false when the subscriber was ended, since the log has the run's end or `after` is that end
   */
  async replay(runId: string, subscriber: Subscriber, after: number): Promise<boolean> {
    const stream = this.#open(runId)
    stream.readPast(subscriber)
    await this.follow(runId)
    return this.#readLog(stream, subscriber, { after, read: (from) => eventsAfter(this.#db, runId, from, pageSize) })
  }

  /** Opens the writing end: the run executes here from now on. */
  begin(run: StartedRun): Publisher {
    const { runId, threadId, isResumable, watchedBy, followedMs = null } = run
    if (followedMs !== null) this.threads.note(threadId, followedMs)
    this.#stopFollowing(runId)
    this.#publishers.get(runId)?.detach()
    const isWatched = this.#early.delete(runId) || this.isWatchedElsewhere(watchedBy)
    const isRead = this.#streams.get(runId)?.isReadFromLog === true
    const publisher: Publisher = new Publisher({
      run,
      eventLog: this.#eventLog,
      isWatched,
      isLogged: isResumable || isWatched || isRead || this.threads.isWatched(threadId),
      patienceMs: this.#patienceMs,
      stream: () => this.#streams.get(runId),
      onLoggedForSlow: () => {
        this.#log.info({ run_id: runId }, "a client reads too slowly: the run's events are logged from here on")
        this.#onSlow(runId)
      },
      onOver: () => this.#endStream(runId),
      onDetached: () => {
        if (this.#publishers.get(runId) === publisher) this.#publishers.delete(runId)
      },
    })
    this.#publishers.set(runId, publisher)
    return publisher
  }

  /** Whether a server other than this one has clients of a run. */
  isWatchedElsewhere(watchedBy: readonly string[]): boolean {
    return watchedBy.some((serverId) => serverId !== this.#serverId)
  }

  /** Tells everybody, also clients of other servers, that a run which was not executing is over. */
  async announceEnd(runId: string, status: string, error?: string): Promise<void> {
    const end = { seq: lastSeq, event: "end", data: Buffer.from(endText(runId, status)) }
    const failure = { seq: lastSeq - 1, event: "error", data: Buffer.from(error ?? "") }
    for (const event of error === undefined ? [end] : [failure, end]) {
      this.#eventLog.append(runId, event, () => this.#streams.get(runId)?.publish(event))
    }
    await this.#eventLog.flushed(runId)
    this.#endStream(runId)
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
    const stream = this.#streams.get(runId) ?? new RunStream(runId, () => this.#onSlow(runId))
    this.#streams.set(runId, stream)
    return stream
  }

  #endStream(runId: string): void {
    const stream = this.#streams.get(runId)
    stream?.end()
    if (stream?.isEmpty) this.#streams.delete(runId)
    this.#stopFollowing(runId)
  }

  /** Clients are behind: where there is a log they read from it (B7), else the run waits for them (B6). */
  #onSlow(runId: string): void {
    const stream = this.#streams.get(runId)
    const isLogged = this.#publishers.get(runId)?.isLogged ?? this.#followers.has(runId)
    if (stream === undefined || !isLogged) return
    for (const subscriber of [...stream.slow.keys()]) void this.#catchUp(stream, subscriber)
  }

  async #catchUp(stream: RunStream, subscriber: Subscriber): Promise<void> {
    const { runId } = stream
    const after = stream.readPast(subscriber)
    const read = async (from: number): Promise<LoggedEvent[]> => {
      for (;;) {
        try {
          return await eventsAfter(this.#db, runId, from, pageSize)
        } catch (error) {
          if (!isPassing(error) || !stream.has(subscriber)) throw error
          await sleep(retryDelayMs)
        }
      }
    }
    try {
      await this.#readLog(stream, subscriber, { after, read })
    } catch (err) {
      this.#log.warn({ err, run_id: runId }, "a client that was behind could not be given the rest of a run")
      this.unsubscribe(runId, subscriber)
      subscriber.break?.(err as Error)
    }
  }

  /** @returns whether the subscriber follows live now; else it was ended, or has left */
  async #readLog(
    stream: RunStream,
    subscriber: Subscriber,
    { after, read }: { after: number; read: (after: number) => Promise<LoggedEvent[]> },
  ): Promise<boolean> {
    const { runId } = stream
    const outcome = await readLog({
      stream,
      subscriber,
      after,
      read,
      flushed: () => this.#eventLog.flushed(runId),
      isFull: (page) => isFull(page, pageSize),
      isEnd: (seq) => this.#isEnd(runId, seq),
    })
    if (outcome !== "over") return outcome === "live"
    this.unsubscribe(runId, subscriber)
    subscriber.end()
    return false
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
