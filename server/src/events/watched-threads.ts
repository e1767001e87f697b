/**
 * Which threads are followed, by clients of any server. Whoever executes a run of one logs its events from the first one
 * on, so that each client reads them from wherever it is.
 *
 * T1 A thread is watched in the database and told to all servers before its client gets an answer. A server may hear of it a moment
 *    later; so it also reads it with each claim, and a run that is created after that answer is logged from its first event.
 * T2 It stays watched for a while after its last client left: one that comes back finds what happened meanwhile.
 * T3 Whoever waits for a run of a thread is woken when the log has the beginning of one, and once in a while besides.
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import { watchedThreads, watchThreads } from "./thread-queries.js"

/** A client of a thread's stream. */
export interface ThreadClient {
  /** There may be more to read. */
  wake(): void
  /** The thread is gone: nothing comes any more. */
  end(): void
  /** This server stops: the client is to come back elsewhere. */
  break(reason: Error): void
}

export interface WatchedThreadsOptions {
  readonly db: Database
  readonly log: Log
  /** How long a thread stays watched after its last client left, in milliseconds. */
  readonly ttlMs: number
  /** A thread is watched from now on that was not. */
  readonly onWatched: (threadId: string) => void
}

// Two renewals may fail before a thread with a client counts as left.
const renewalsPerTtl = 3

export class WatchedThreads {
  readonly #options: WatchedThreadsOptions
  /** Until when each is watched, by this process's clock. */
  readonly #until = new Map<string, number>()
  readonly #clients = new Map<string, Set<ThreadClient>>()
  #subscriptions: Subscription[] = []
  #renewal: NodeJS.Timeout | undefined

  constructor(options: WatchedThreadsOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { db, ttlMs } = this.#options
    const onStart = (threadId: string) => {
      for (const client of this.#clients.get(threadId) ?? []) client.wake()
    }
    this.#subscriptions = [
      await db.listen(
        "thread_watched",
        (threadId) => this.note(threadId, ttlMs),
        () => void this.#readAll(),
      ),
      await db.listen("thread_runs", onStart, () => this.#wakeAll()),
    ]
    await this.#readAll()
    this.#renewal = setInterval(() => void this.#renew(), ttlMs / renewalsPerTtl)
    this.#renewal.unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#renewal)
    for (const subscription of this.#subscriptions) await subscription.close()
    const reason = new Error("the server stops")
    for (const clients of this.#clients.values()) for (const client of clients) client.break(reason)
    this.#clients.clear()
  }

  isWatched(threadId: string): boolean {
    return (this.#until.get(threadId) ?? 0) > performance.now()
  }

  /** How many clients follow a thread here. */
  get clients(): number {
    return [...this.#clients.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Adds a client. @returns false when there is no such thread */
  async add(threadId: string, client: ThreadClient): Promise<boolean> {
    const { db, ttlMs } = this.#options
    const clients = this.#clients.get(threadId) ?? new Set()
    // First, so that no start of a run falls between.
    this.#clients.set(threadId, clients.add(client))
    try {
      const [found] = await watchThreads(db, [threadId], ttlMs)
      if (found === undefined) this.remove(threadId, client)
      else this.note(threadId, ttlMs)
      return found !== undefined
    } catch (error) {
      this.remove(threadId, client)
      throw error
    }
  }

  remove(threadId: string, client: ThreadClient): void {
    const clients = this.#clients.get(threadId)
    clients?.delete(client)
    if (clients?.size === 0) this.#clients.delete(threadId)
  }

  /** The thread is watched for so long from now on. */
  note(threadId: string, forMs: number): void {
    const isNew = !this.isWatched(threadId)
    this.#until.set(threadId, performance.now() + forMs)
    if (isNew) this.#options.onWatched(threadId)
  }

  /** What was told while nobody listened. */
  async #readAll(): Promise<void> {
    const { db, log } = this.#options
    try {
      for (const { thread_id, left_ms } of await watchedThreads(db)) this.note(thread_id, left_ms)
    } catch (err) {
      log.warn({ err }, "which threads are followed could not be read")
    }
    this.#wakeAll()
  }

  async #renew(): Promise<void> {
    const { db, log, ttlMs } = this.#options
    for (const threadId of this.#until.keys()) if (!this.isWatched(threadId)) this.#until.delete(threadId)
    const asked = [...this.#clients.keys()]
    if (asked.length === 0) return
    try {
      const there = new Set(await watchThreads(db, asked, ttlMs))
      for (const threadId of asked) if (!there.has(threadId)) this.#end(threadId)
    } catch (err) {
      log.warn({ err, threads: asked.length }, "threads could not be watched on")
    }
    this.#wakeAll()
  }

  #end(threadId: string): void {
    for (const client of this.#clients.get(threadId) ?? []) client.end()
    this.#clients.delete(threadId)
  }

  #wakeAll(): void {
    for (const clients of this.#clients.values()) for (const client of clients) client.wake()
  }
}
