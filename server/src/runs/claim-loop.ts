/**
 * Takes waiting runs out of the queue whenever this server has room: after a notification, when a slot becomes free,
 * when a delayed run is due, and once in a while in case a notification was lost. One pass runs at a time.
 */
import type { Database } from "@superstep/toolkit/db/database"
import { isSqlState, sqlState } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import type { RunStreams } from "../events/run-streams.js"
import { type Claimer, claimRuns, findLostClaims, nextDueMs, releaseRun } from "./claims.js"
import type { Executor } from "./executor.js"
import { workerLost } from "./run.js"

export interface ClaimLoopOptions {
  readonly db: Database
  readonly log: Log
  readonly executor: Executor
  readonly streams: RunStreams
  readonly claimer: Claimer
  /**
   * How often to look without being told: the safety net behind the notifications, and how long a claim of a dead
   * server stays unnoticed after its lease. In milliseconds.
   */
  readonly sweepMs: number
}

export class ClaimLoop {
  readonly #options: ClaimLoopOptions
  #subscription: Subscription | undefined
  #sweep: NodeJS.Timeout | undefined
  #due: NodeJS.Timeout | undefined
  #pass: Promise<void> | undefined
  #isWoken = false
  #isStopped = false

  constructor(options: ClaimLoopOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { db, claimer, sweepMs } = this.#options
    this.#subscription = await db.listen(
      "runs_pending",
      () => this.wake(),
      () => this.wake(),
    )
    // What a former life of this server held is lost: nobody else can know it sooner.
    await this.#releaseLost(claimer.serverId)
    this.#sweep = setInterval(() => void this.#sweepLost(), sweepMs)
    this.#sweep.unref()
    this.wake()
  }

  /** There may be work: looks now, or once more when it is looking already. */
  wake(): void {
    this.#isWoken = true
    if (this.#isStopped) return
    this.#pass ??= this.#claimAll().finally(() => {
      this.#pass = undefined
      // Somebody called while the pass was on its way out.
      if (this.#isWoken) this.wake()
    })
  }

  /** Claims nothing more; resolves when the pass under way is over. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#sweep)
    clearTimeout(this.#due)
    await this.#subscription?.close()
    await this.#pass
  }

  async #claimAll(): Promise<void> {
    const { db, executor, claimer, log } = this.#options
    try {
      while (this.#isWoken && !this.#isStopped) {
        this.#isWoken = false
        const free = executor.freeSlots()
        const freeSolo = executor.freeSoloSlots()
        if (free === 0 && freeSolo === 0) return
        const claims = await this.#claim(free, freeSolo)
        for (const claim of claims) executor.execute(claim)
        if (claims.length > 0) this.#isWoken = true
      }
      if (!this.#isStopped) this.#wakeWhenDue(await nextDueMs(db))
    } catch (err) {
      // The sweep tries again.
      log.warn({ err, server_id: claimer.serverId }, "the queue could not be read")
    }
  }

  async #claim(free: number, freeSolo: number) {
    const { db, claimer } = this.#options
    try {
      return await claimRuns(db, claimer, free, freeSolo)
    } catch (error) {
      // Another server started a run of the same thread in this moment (R2): look again.
      if (!isSqlState(error, sqlState.uniqueViolation, "runs_one_running_per_thread")) throw error
      this.#isWoken = true
      return []
    }
  }

  #wakeWhenDue(dueMs: number | undefined): void {
    clearTimeout(this.#due)
    if (dueMs === undefined) return
    this.#due = setTimeout(() => this.wake(), Math.max(1, Math.min(dueMs, 2 ** 31 - 1)))
    this.#due.unref()
  }

  async #sweepLost(): Promise<void> {
    try {
      await this.#releaseLost(undefined)
      this.wake()
    } catch (err) {
      this.#options.log.warn({ err }, "lost claims could not be looked for")
    }
  }

  /** Returns what nobody holds any more to the queue; a run that was lost too often ends (R5). */
  async #releaseLost(formerlyOf: string | undefined): Promise<void> {
    const { db, log, streams } = this.#options
    const error = JSON.stringify(workerLost("its server"))
    const ending = formerlyOf === undefined ? "lease_ended" : "server_restarted"
    for (const { runId, claimId } of await findLostClaims(db, { formerlyOf })) {
      const { outcome, status } = await releaseRun(db, { runId, claimId, ending, watcher: undefined }, error)
      if (outcome !== "claim_lost") log.warn({ run_id: runId, outcome }, "a run of a lost server was taken back")
      if (outcome === "finished") await streams.announceEnd(runId, status ?? "error")
      if (outcome === "rolled_back") await streams.announceEnd(runId, "rollback")
    }
  }
}
