/**
 * Which threads are followed, by clients of any server. The server that executes a run of a followed thread logs the run's events, so
 * that clients of every server can read them.
 *
 * T1 The database records (`watched_threads`) that a thread is followed before its client gets a response. Each claim reads this, so a run
 *    created after the response is logged from its first event. Other servers get a hint: a run that executes there is logged from then on.
 *    If the hint is lost, logging starts with the next hint, a third of the time in T2 later.
 *    After an outage of the database, the threads of clients here are followed again as soon as it is back.
 * T2 A thread stays followed for `ttlMs` after its last client left, so a client that reconnects gets the events in between.
 * T3 A client follows a thread, not an id. When its thread is deleted, its stream ends, also where a new thread already has the id; the
 *    streams of the new thread go on. The hint about a deletion may arrive late, so its receiver asks the database.
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Hints } from "@superstep/toolkit/db/hints"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import { type Follow, type FollowedThread, followedThreads, followThreads } from "./thread-queries.js"

export interface FollowedThreadsOptions {
  readonly db: Database
  readonly hints: Pick<Hints, "send">
  readonly log: Log
  /** How long a thread stays followed after its last client left, in milliseconds. */
  readonly ttlMs: number
  /** The threads that clients of this server follow, and those that clients of the newer streaming protocol follow. */
  readonly followedHere: () => readonly string[]
  readonly followedByProtocol: () => readonly string[]
  /** Called when a thread becomes followed. */
  readonly onFollowed: (threadId: string) => void
  /** Called when a thread becomes followed for the newer streaming protocol. */
  readonly onProtocol: (threadId: string) => void
  /** Called when a thread that is followed here has been deleted; another one may have its id by now. */
  readonly onDeleted: (threadId: string) => void
}

// Two renewals may fail before a thread with a client counts as not followed.
const renewalsPerTtl = 3

export class FollowedThreads {
  readonly #options: FollowedThreadsOptions
  /** Until when each thread is followed, by this process's clock. */
  readonly #until = new Map<string, number>()
  /** The same for clients of the newer streaming protocol. */
  readonly #protocolUntil = new Map<string, number>()
  /** When each thread that clients of this server follow was created (T3). */
  readonly #createdAt = new Map<string, number>()
  #subscriptions: Subscription[] = []
  #renewal: NodeJS.Timeout | undefined

  constructor(options: FollowedThreadsOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { db, ttlMs } = this.#options
    // Renewals may have failed, too.
    const readAgain = () => void this.#readAll().then(() => this.#renew())
    this.#subscriptions = [
      await db.listen("thread_watched", (threadId) => this.note(threadId, ttlMs), readAgain),
      await db.listen("thread_watched_for_protocol", (threadId) => this.noteProtocol(threadId, ttlMs)),
    ]
    await this.#readAll()
    this.#renewal = setInterval(() => void this.#renew(), ttlMs / renewalsPerTtl)
    this.#renewal.unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#renewal)
    for (const subscription of this.#subscriptions) await subscription.close()
  }

  isFollowed(threadId: string): boolean {
    return (this.#until.get(threadId) ?? 0) > performance.now()
  }

  /** Whether the runs of the thread have protocol events. */
  isFollowedByProtocol(threadId: string): boolean {
    return (this.#protocolUntil.get(threadId) ?? 0) > performance.now()
  }

  /** Follows a thread for a client of this server. @returns false when there is no such thread */
  async follow(
    threadId: string,
    { forProtocol }: Pick<Follow, "forProtocol"> = { forProtocol: false },
  ): Promise<boolean> {
    const [found] = await this.#follow([threadId], forProtocol)
    return found !== undefined
  }

  /** For how long a thread is followed from its last client on, in milliseconds. */
  get ttlMs(): number {
    return this.#options.ttlMs
  }

  /**
   * Called when it was committed that a thread is followed for the newer streaming protocol: notes it, and notifies the other servers, unless
   * they have learned it a short time ago.
   */
  noteProtocolClient(threadId: string): void {
    const { hints, ttlMs } = this.#options
    const leftMs = (this.#protocolUntil.get(threadId) ?? 0) - performance.now()
    this.note(threadId, ttlMs)
    this.noteProtocol(threadId, ttlMs)
    if (leftMs > ttlMs * (1 - 1 / renewalsPerTtl)) return
    hints.send("thread_watched", threadId)
    hints.send("thread_watched_for_protocol", threadId)
  }

  /** Records that the thread is followed for `forMs` from now on. */
  note(threadId: string, forMs: number): void {
    const isNew = !this.isFollowed(threadId)
    this.#until.set(threadId, performance.now() + forMs)
    if (isNew) this.#options.onFollowed(threadId)
  }

  /** Like `note`, for the newer streaming protocol. */
  noteProtocol(threadId: string, forMs: number): void {
    const isNew = !this.isFollowedByProtocol(threadId)
    this.#protocolUntil.set(threadId, performance.now() + forMs)
    if (isNew) this.#options.onProtocol(threadId)
  }

  /** Called when a thread may have been deleted: ends the streams of its clients here if it has been (T3). */
  async endIfDeleted(threadId: string): Promise<void> {
    const { followedHere, followedByProtocol } = this.#options
    const isThis = (id: string) => id === threadId
    await this.#renewAll(followedHere().filter(isThis), false)
    await this.#renewAll(followedByProtocol().filter(isThis), true)
  }

  async #follow(threadIds: readonly string[], forProtocol: boolean): Promise<FollowedThread[]> {
    const { db, hints, ttlMs: forMs, onDeleted } = this.#options
    const found = await followThreads(db, threadIds, { forMs, forProtocol })
    // Statements may end in another order than they began: one may say what another has found to be gone.
    const present = found.filter(({ threadId, createdAt }) => createdAt >= (this.#createdAt.get(threadId) ?? createdAt))
    for (const { threadId, createdAt } of present) {
      if ((this.#createdAt.get(threadId) ?? createdAt) !== createdAt) onDeleted(threadId)
      this.#createdAt.set(threadId, createdAt)
      if (forProtocol) this.noteProtocolClient(threadId)
      else {
        this.note(threadId, forMs)
        hints.send("thread_watched", threadId)
      }
    }
    return present
  }

  /** Reads the followed threads, whose notifications may have been missed while not listening. */
  async #readAll(): Promise<void> {
    const { db, log } = this.#options
    try {
      for (const { thread_id, left_ms, protocol_ms } of await followedThreads(db)) {
        this.note(thread_id, left_ms)
        if (protocol_ms !== null && protocol_ms > 0) this.noteProtocol(thread_id, protocol_ms)
      }
    } catch (err) {
      log.warn({ err }, "the list of followed threads could not be read")
    }
  }

  async #renew(): Promise<void> {
    const { followedHere, followedByProtocol } = this.#options
    for (const threadId of this.#until.keys()) if (!this.isFollowed(threadId)) this.#until.delete(threadId)
    for (const threadId of this.#protocolUntil.keys())
      if (!this.isFollowedByProtocol(threadId)) this.#protocolUntil.delete(threadId)
    for (const threadId of this.#createdAt.keys()) if (!this.isFollowed(threadId)) this.#createdAt.delete(threadId)
    await this.#renewAll(followedHere(), false)
    await this.#renewAll(followedByProtocol(), true)
  }

  async #renewAll(asked: readonly string[], forProtocol: boolean): Promise<void> {
    const { log, onDeleted } = this.#options
    if (asked.length === 0) return
    const createdAt = new Map(this.#createdAt)
    try {
      const there = new Set((await this.#follow(asked, forProtocol)).map(({ threadId }) => threadId))
      for (const threadId of asked) {
        // Another statement may have found a new thread with its id meanwhile, and ended the streams of this one.
        if (there.has(threadId) || this.#createdAt.get(threadId) !== createdAt.get(threadId)) continue
        this.#createdAt.delete(threadId)
        onDeleted(threadId)
      }
    } catch (err) {
      log.warn({ err, threads: asked.length }, "following threads could not be renewed")
    }
  }
}
