/**
 * The events of this process: runs that execute here publish them, and topics deliver them to the subscribers of a run or a
 * thread. The log of a run that executes on another server is tailed. Subscribers see no difference.
 * README.md has the rules.
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Hints } from "@superstep/toolkit/db/hints"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import type { Clock } from "@superstep/toolkit/time/clock"
import type { AttemptJournal } from "../checkpoints/attempt-journal.js"
import { endOf, eventsOfNoAttempt, type RunEnding } from "./added-events.js"
import { Arrivals } from "./arrivals.js"
import { lastSeq } from "./event.js"
import { FollowedThreads } from "./followed-threads.js"
import { LateEvents } from "./late-events.js"
import { type StartedRun as PublishedRun, Publisher } from "./publisher.js"
import {
  type AppendedEvents,
  type AppendedTo,
  findBehind,
  isEndAt,
  lastLoggedEvent,
  lastPlaceOfThread,
  lastSeqOfRun,
  pageOfRun,
  pageOfThread,
} from "./queries.js"
import { ReaderBudget } from "./reader-budget.js"
import { protocolKind, runKind, type Subscriber, threadKind } from "./topic.js"
import { Topics, type TopicsOptions } from "./topics.js"

// Enough for a client with a usual connection to read some tens of megabytes, and little compared to how long a run may
// take in all.
const defaultSlowReaderBudgetMs = 10_000
// The same as the default time for which a run's log is kept after its end.
const defaultThreadTtlMs = 120_000
// Hints are seldom lost, and one statement asks for all topics.
const defaultSweepMs = 5_000

export interface StartedRun extends PublishedRun {
  readonly isResumable: boolean
  readonly watchedBy: readonly string[]
  readonly followedMs?: number | null
  readonly protocolMs?: number | null
}

export interface StreamsOptions {
  readonly db: Database
  readonly hints: Pick<Hints, "send">
  readonly log: Log
  readonly serverId: string
  /** For what waits until the database is back. */
  readonly clock?: Clock
  /** How long the runs of a thread are logged after its last client left, in milliseconds. */
  readonly threadTtlMs?: number
  /** How long a run without a log may wait for clients that are behind, in all, in milliseconds (B6). */
  readonly slowReaderBudgetMs?: number
  /** How often this server looks for events and deletions whose hint was lost, in milliseconds (B8). */
  readonly sweepMs?: number
}

/** How a run ended. */
export interface EndOfRun {
  /** `rollback` when it is gone. */
  readonly status: string
  /** Whether its input is not in its thread. */
  readonly isUnsaved: boolean
}

/** Details of a run that was not executing when it ended. */
export interface EndedElsewhere {
  /** JSON text: why it failed. */
  readonly error?: string | undefined
  /** Its thread: subscribers of the thread get the end too, also when the run is deleted. */
  readonly threadId?: string | undefined
  /** Whether nothing of it was saved. */
  readonly isUnsaved?: boolean
  /** The state and the open interrupts after it, for clients of the newer protocol. */
  readonly left?: RunEnding["left"]
}

export class Streams {
  readonly runs: Topics
  readonly threads: Topics
  /** Threads, for clients of the newer streaming protocol. */
  readonly protocol: Topics
  /** Shared by the clients of all topics here. */
  readonly readers = new ReaderBudget()
  readonly arrivals = new Arrivals()
  /** Threads whose runs are logged because a client follows the thread. */
  readonly followed: FollowedThreads
  readonly #options: StreamsOptions
  readonly #late: LateEvents
  readonly #publishers = new Map<string, Publisher>()
  /** Runs that another server watches and that do not, or not yet, execute here. */
  readonly #watchedEarly = new Set<string>()
  #subscriptions: Subscription[] = []
  #timer: NodeJS.Timeout | undefined
  #isSweeping = false

  constructor(options: StreamsOptions) {
    const { db, hints, log, clock, threadTtlMs: ttlMs = defaultThreadTtlMs } = options
    this.#options = options
    this.#late = new LateEvents({ db, log, clock, onAppended: (run) => this.#announce(run) })
    this.runs = new Topics({
      kind: runKind,
      log,
      source: (runId) => ({
        page: (after) => pageOfRun(db, runId, after),
        lastPlace: () => lastSeqOfRun(db, runId),
        isEndAt: async (seq) => seq >= lastSeq || (seq >= 0 && (await isEndAt(db, runId, seq))),
        flushed: () => this.#publishers.get(runId)?.flushed() ?? Promise.resolve(),
      }),
      isLive: (runId) => this.#publishers.has(runId),
      isLogged: (runId) => this.#publishers.get(runId)?.isLogged === true,
    })
    const thread = {
      log,
      source: (threadId: string) => ({
        page: (after: number) => pageOfThread(db, threadId, after),
        lastPlace: () => lastPlaceOfThread(db, threadId),
        isEndAt: async () => false,
        // What is committed after a page is read by the tail, so a page need not wait for pending events.
        flushed: () => Promise.resolve(),
      }),
      isLive: () => false,
      isLogged: () => true,
    } satisfies Omit<TopicsOptions, "kind">
    this.threads = new Topics({ kind: threadKind, ...thread })
    this.protocol = new Topics({ kind: protocolKind, ...thread })
    this.followed = new FollowedThreads({
      db,
      hints,
      log,
      ttlMs,
      followedHere: () => this.threads.ids(),
      followedByProtocol: () => this.protocol.ids(),
      onFollowed: (threadId) => this.#logRunsOf(threadId),
      onProtocol: (threadId) => this.#showRunsOf(threadId),
      onDeleted: (threadId) => this.#endThread(threadId),
    })
  }

  /**
   * How many clients this server serves events of runs or threads, at least; 0 only when there are none. Callers that only wait for a run
   * read no events, so they count once for each run.
   */
  get openStreams(): number {
    return Math.max(this.readers.readers, this.runs.size)
  }

  async start(): Promise<void> {
    const { db } = this.#options
    this.#subscriptions = [
      await db.listen(
        "run_events",
        (runId) => this.runs.wake(runId),
        () => this.runs.wakeAll(),
      ),
      await db.listen(
        "thread_events",
        (payload) => this.#onThreadEvents(payload),
        () => {
          this.threads.wakeAll()
          this.protocol.wakeAll()
        },
      ),
      await db.listen("run_watched", (payload) => this.#onWatched(payload)),
      await db.listen("thread_gone", (threadId) => void this.followed.endIfDeleted(threadId)),
    ]
    await this.followed.start()
    this.#timer = setInterval(() => void this.#sweep(), this.#options.sweepMs ?? defaultSweepMs)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.followed.close()
    for (const subscription of this.#subscriptions) await subscription.close()
    const reason = new Error("the server stops")
    this.threads.breakAll(reason)
    this.protocol.breakAll(reason)
    this.runs.breakAll(reason)
    this.stopWaiting()
  }

  isExecuting(runId: string): boolean {
    return this.#publishers.has(runId)
  }

  /** Opens the writing end: the run executes here from now on. @param journal  of its attempt, which logs its events */
  begin(run: StartedRun, journal: AttemptJournal): Publisher {
    const { runId, threadId, attempt, isResumable, watchedBy, followedMs = null, protocolMs = null } = run
    if (followedMs !== null) this.followed.note(threadId, followedMs)
    if (protocolMs !== null) this.followed.noteProtocol(threadId, protocolMs)
    // A run that has only waited has no log; reading one for its subscribers would switch logging on.
    this.runs.takeOver(runId, { hasLog: attempt > 1 })
    this.#publishers.get(runId)?.detach()
    const isWatched = this.#watchedEarly.delete(runId) || this.isWatchedElsewhere(watchedBy)
    const isRead = this.runs.get(runId)?.isReadFromLog === true
    const publisher: Publisher = new Publisher({
      run,
      journal,
      isWatched,
      isLogged: isResumable || isWatched || isRead || this.followed.isFollowed(threadId),
      hasProtocolEvents: this.followed.isFollowedByProtocol(threadId),
      slowReaderBudgetMs: this.#options.slowReaderBudgetMs ?? defaultSlowReaderBudgetMs,
      topic: () => this.runs.get(runId),
      onLoggedForSlow: () => {
        const reason = "a client reads too slowly: the run's events are logged from now on"
        this.#options.log.info({ run_id: runId, promise: "D12" }, reason)
        this.runs.catchUp(runId)
      },
      onLogged: (appended) => this.#announce({ runId, threadId, appended }),
      appendLate: (events) =>
        this.#late.append(runId, events).catch((err: unknown) => {
          this.#options.log.error({ err, run_id: runId }, "the last events of a run could not be logged")
          return []
        }),
      onOver: () => this.runs.end(runId),
      onDetached: () => {
        if (this.#publishers.get(runId) === publisher) this.#publishers.delete(runId)
      },
    })
    this.#publishers.set(runId, publisher)
    return publisher
  }

  /** Whether a server other than this one has clients of a run. */
  isWatchedElsewhere(watchedBy: readonly string[]): boolean {
    return watchedBy.some((serverId) => serverId !== this.#options.serverId)
  }

  /** Notifies the server that executes a run that the run is watched here. If the hint is lost, the renewal of its server's lease reports it. */
  announceWatched(runId: string): void {
    const { hints, serverId } = this.#options
    hints.send("run_watched", `${runId} ${serverId}`)
  }

  /** Announces to all clients, also those of other servers, the end of a run that was not executing. */
  async announceEnd(
    runId: string,
    status: string,
    { error, threadId, isUnsaved, left }: EndedElsewhere = {},
  ): Promise<void> {
    const hasProtocolEvents = threadId !== undefined && this.followed.isFollowedByProtocol(threadId)
    const events = eventsOfNoAttempt(runId, { status, error, isUnsaved, left, hasProtocolEvents })
    const late = events.map((event) => ({ ...event, data: event.data.toString(), threadId }))
    let isInLog = false
    try {
      const taken = new Set((await this.#late.append(runId, late)).map(({ seq }) => seq))
      for (const event of events) if (taken.has(event.seq)) this.runs.get(runId)?.publish(event)
      isInLog = !taken.has(lastSeq)
    } finally {
      // Who tails the log gets the end that it has.
      if (isInLog) this.runs.wake(runId)
      else this.runs.end(runId)
    }
  }

  /** Ends all subscribers of a deleted thread. A server that misses the hint finds out at its next sweep (B8). */
  announceGone(threadId: string): void {
    void this.followed.endIfDeleted(threadId)
    this.#options.hints.send("thread_gone", threadId)
  }

  /** Ends all subscribers of a run that is over, unless they already got its end. */
  #endAll(runId: string, { status, isUnsaved }: EndOfRun): void {
    this.runs.get(runId)?.publish(endOf(runId, status, isUnsaved))
    this.runs.end(runId)
  }

  /**
   * Ends the subscribers of a run that is over and whose log is tailed from a place on: once they have what the log has after that place. Its
   * end is there, or comes: from the server that ended the run, or from the sweep (`OverdueEnds`).
   */
  async endTailed(runId: string, after: number, ended: EndOfRun): Promise<void> {
    const last = await lastLoggedEvent(this.#options.db, runId)
    if (last !== undefined && last.seq > after) this.runs.wake(runId)
    else this.#endAll(runId, ended)
  }

  /**
   * Ends one subscriber of a run with an end event, unless it has already ended.
   * @param lastSeen  the last event that its client has, when later ones may be missing
   */
  endSubscriber(runId: string, subscriber: Subscriber, { status, isUnsaved }: EndOfRun, lastSeen?: number): void {
    this.runs.get(runId)?.endOne(subscriber, endOf(runId, status, isUnsaved), lastSeen)
    this.runs.unsubscribe(runId, subscriber)
  }

  /**
   * Ends a subscriber that has read the log of a run that is over. Usually the log contains the end event, committed with
   * the run's status. If not, the server that ended the run died before it could write it, and it is written now.
   * @param after  the last event that the client has; -1 for none
   */
  async endReader(
    subscriber: Subscriber,
    { runId, after, error, ...ended }: EndOfRun & Pick<RunEnding, "error"> & { runId: string; after: number },
  ): Promise<void> {
    const last = await lastLoggedEvent(this.#options.db, runId)
    if (last === undefined) this.endSubscriber(runId, subscriber, ended, after < 0 ? undefined : after)
    else if (last.event !== "end") await this.announceEnd(runId, ended.status, { error, isUnsaved: ended.isUnsaved })
  }

  /** Events that cannot be logged now are given up: the server stops, and the database may be unavailable. */
  stopWaiting(): void {
    this.#late.stop()
  }

  /** Forgets the announced watchers of runs that never executed here. */
  forgetEarlyWatchers(): void {
    this.#watchedEarly.clear()
  }

  /** Looks for events and deletions whose hint was lost (B8), or came before the client was a subscriber. */
  async #sweep(): Promise<void> {
    const { db, log } = this.#options
    const runs = this.runs.tailed()
    const threads = [...this.threads.tailed(), ...this.protocol.tailed()]
    // The previous sweep may still wait for a slow or unavailable database.
    if (this.#isSweeping || runs.length + threads.length === 0) return
    this.#isSweeping = true
    try {
      const { behind, gone } = await findBehind(db, runs, threads)
      for (const id of behind) {
        this.runs.wake(id)
        this.#wakeThread(id)
      }
      for (const id of gone) await this.followed.endIfDeleted(id)
    } catch (err) {
      log.warn({ err }, "the event log could not be polled")
    } finally {
      this.#isSweeping = false
    }
  }

  /** Called when events of a run were committed: passes them to its thread's topic, and sends hints to servers that may follow (B8). */
  #announce({ runId, threadId, appended }: AppendedTo): void {
    const { hints, serverId } = this.#options
    const publisher = this.#publishers.get(runId)
    // It is unknown who watches a run that does not execute here.
    if (publisher?.isWatched !== false) hints.send("run_events", runId)
    if (threadId === null) return
    if (appended) this.#passOn(threadId, appended)
    else this.#wakeThread(threadId)
    if (this.followed.isFollowed(threadId)) hints.send("thread_events", `${threadId} ${serverId}`)
  }

  /** Starts logging the runs of a thread that a client follows from now on. */
  #logRunsOf(threadId: string): void {
    for (const publisher of this.#publishers.values()) {
      if (publisher.threadId !== threadId) continue
      publisher.startLogging()
      // No hint was sent for events that were logged before.
      this.#wakeThread(threadId)
      this.#options.hints.send("thread_events", `${threadId} ${this.#options.serverId}`)
    }
  }

  /** Shows the runs of a thread that execute here to clients of the newer protocol. */
  #showRunsOf(threadId: string): void {
    for (const publisher of this.#publishers.values()) {
      if (publisher.threadId === threadId) publisher.joinProtocol()
    }
  }

  #passOn(threadId: string, appended: AppendedEvents): void {
    this.arrivals.wake(threadId)
    this.threads.take(threadId, appended)
    this.protocol.take(threadId, appended)
  }

  #onThreadEvents(payload: string): void {
    const [threadId = "", writer] = payload.split(" ")
    if (writer !== this.#options.serverId) this.#wakeThread(threadId)
  }

  #wakeThread(threadId: string): void {
    this.arrivals.wake(threadId)
    this.threads.wake(threadId)
    this.protocol.wake(threadId)
  }

  #endThread(threadId: string): void {
    this.threads.end(threadId)
    this.protocol.end(threadId)
  }

  #onWatched(payload: string): void {
    const [runId = "", watcher] = payload.split(" ")
    if (watcher === this.#options.serverId) return
    const publisher = this.#publishers.get(runId)
    // The claim of this run may be about to arrive here; else the entry only takes room until the next renewal.
    if (publisher === undefined) return void this.#watchedEarly.add(runId)
    publisher.noteWatched()
    this.#options.hints.send("run_events", runId)
  }
}
