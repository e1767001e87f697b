/**
 * Takes waiting runs out of the queue whenever this server has room: after a notification, when a slot becomes free,
 * when a delayed run is due, and once in a while in case a notification was lost. One pass runs at a time.
 */
import type { Database } from "@superstep/toolkit/db/database"
import { isSqlState, sqlState } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import type { RunStreams } from "../events/run-streams.js"
import { type Claimer, claimRuns, findLostClaims, isAnyInFlight, nextDueMs, releaseRun } from "./claims.js"
import type { Executor } from "./executor.js"
import { OverdueEnds } from "./overdue-ends.js"
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
  /** How long after Postgres' start no lease is judged, in milliseconds. */
  readonly graceMs: number
}

export class ClaimLoop {
  readonly #options: ClaimLoopOptions
  readonly #overdueEnds = new OverdueEnds()
  #subscription: Subscription | undefined
  #sweep: NodeJS.Timeout | undefined
  #due: NodeJS.Timeout | undefined
  #pass: Promise<void> | undefined
  #isWoken = false
  /** Whether the queue may hold runs that were not seen: else a slot that becomes free is no reason to look. */
  #mayWait = true
  /** Whether it may hold runs that need a worker of their own. */
  #mayWaitAlone = true
  #isSweeping = false
  /** From the end of `start` to `stop`: what was claimed before would be taken for a former life's, and given back. */
  #mayClaim = false

  constructor(options: ClaimLoopOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { db, claimer, sweepMs } = this.#options
    const lookForAll = () => {
      this.#mayWaitAlone = true
      this.wake()
    }
    const onPending = (kind: string) => (kind === "alone" ? lookForAll() : this.wake())
    this.#subscription = await db.listen("runs_pending", onPending, lookForAll)
    // What a former life of this server held is lost: nobody else can know it sooner.
    await this.#releaseLost(claimer.serverId)
    this.#sweep = setInterval(() => void this.#sweepLost(), sweepMs)
    this.#sweep.unref()
    this.#mayClaim = true
    this.wake()
  }

  /** There may be work: looks now, or once more when it is looking already. */
  wake(): void {
    this.#isWoken = true
    if (!this.#mayClaim) return
    this.#pass ??= this.#claimAll().finally(() => {
      this.#pass = undefined
      // Somebody called while the pass was on its way out.
      if (this.#isWoken) this.wake()
    })
  }

  /** A slot is free: looks, unless the last look took all there was and nobody has told of more since. */
  slotFreed(): void {
    if (this.#mayWait || this.#mayWaitAlone) this.wake()
  }

  /** Claims nothing more; resolves when the pass under way is over. */
  async stop(): Promise<void> {
    this.#mayClaim = false
    clearInterval(this.#sweep)
    clearTimeout(this.#due)
    await this.#subscription?.close()
    await this.#pass
  }

  async #claimAll(): Promise<void> {
    const { executor, claimer, log } = this.#options
    try {
      while (this.#isWoken && this.#mayClaim) {
        this.#isWoken = false
        await this.#claimAlone()
        const free = executor.freeSlots()
        this.#mayWait = free === 0
        if (free === 0) return
        const claims = await this.#claim({ limit: free, runsAlone: false })
        for (const claim of claims) executor.execute(claim)
        if (claims.length === free) this.#isWoken = true
      }
      if (this.#mayClaim) await this.#lookAhead()
    } catch (err) {
      // The next free slot or the sweep tries again.
      this.#mayWait = true
      this.#mayWaitAlone = true
      log.warn({ err, server_id: claimer.serverId }, "the queue could not be read")
    }
  }

  /** The queue was empty: when is there more? */
  async #lookAhead(): Promise<void> {
    const { db, executor } = this.#options
    const dueMs = await nextDueMs(db)
    // What became due between the two questions is in neither answer; nor is a run whose row was locked just now.
    const free = this.#mayClaim ? executor.freeSlots() : 0
    const late = free === 0 ? [] : await this.#claim({ limit: free, runsAlone: false })
    for (const claim of late) executor.execute(claim)
    this.#mayWait = free === 0 || late.length === free
    this.#wakeWhenDue(dueMs)
  }

  /** Runs that need a worker of their own (R9) are rare: they are only asked for when there may be some. */
  async #claimAlone(): Promise<void> {
    const { executor } = this.#options
    const free = executor.freeSoloSlots()
    if (!this.#mayWaitAlone || free === 0) return
    // Before the question: what is told while it is on its way counts.
    this.#mayWaitAlone = false
    const claims = await this.#claim({ limit: free, runsAlone: true })
    for (const claim of claims) executor.execute(claim)
    if (claims.length === free) this.#mayWaitAlone = true
  }

  async #claim(wanted: Parameters<typeof claimRuns>[2]) {
    const { db, claimer } = this.#options
    try {
      return await claimRuns(db, claimer, wanted)
    } catch (error) {
      // Another server started a run of the same thread in this moment (R2): look again.
      if (!isSqlState(error, sqlState.uniqueViolation, "runs_one_running_per_thread")) throw error
      this.#isWoken = true
      this.#mayWaitAlone ||= wanted.runsAlone
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
    // The one before may still wait for a database that is away.
    if (this.#isSweeping) return
    this.#isSweeping = true
    try {
      // Nearly always nothing is: a server that sleeps asks one question.
      const { db, streams } = this.#options
      if (streams.openStreams === 0 && !(await isAnyInFlight(db))) return
      await this.#releaseLost(undefined)
      await this.#overdueEnds.tell(this.#options)
      this.#mayWaitAlone = true
      this.wake()
    } catch (err) {
      this.#options.log.warn({ err }, "lost claims could not be looked for")
    } finally {
      this.#isSweeping = false
    }
  }

  /** Returns what nobody holds any more to the queue; a run that was lost too often ends (R5). */
  async #releaseLost(formerlyOf: string | undefined): Promise<void> {
    const { db, log, streams, graceMs } = this.#options
    const error = JSON.stringify(workerLost("its server"))
    const ending = formerlyOf === undefined ? "lease_ended" : "server_restarted"
    for (const { runId, claimId } of await findLostClaims(db, { formerlyOf, graceMs })) {
      const { outcome, status } = await releaseRun(db, { runId, claimId, ending, watcher: undefined }, error)
      if (outcome !== "claim_lost") log.warn({ run_id: runId, outcome }, "a run of a lost server was taken back")
      if (outcome === "finished")
        await streams.announceEnd(runId, status ?? "error", status === "error" ? error : undefined)
      if (outcome === "rolled_back") await streams.announceEnd(runId, "rollback")
    }
  }
}
