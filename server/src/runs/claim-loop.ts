/**
 * Takes waiting runs out of the queue whenever this server has room: after a notification, when a slot becomes free,
 * when a delayed run is due, and once in a while in case a notification was lost. One pass runs at a time.
 */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { isSqlState, sqlState } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import type { RunStreams } from "../events/run-streams.js"
import {
  type Claimer,
  claimRuns,
  findExpiredClaims,
  findFormerClaims,
  type LostClaim,
  lookAtQueue,
  nextDueMs,
  releaseRun,
} from "./claims.js"
import { Contact } from "./contact.js"
import type { Executor } from "./executor.js"
import { OverdueEnds } from "./overdue-ends.js"
import { workerLost } from "./run.js"

export interface ClaimLoopOptions {
  readonly db: Database
  readonly log: Log
  readonly executor: Executor
  readonly streams: RunStreams
  readonly claimer: Claimer
  /** Statements on leases, on a connection that nothing else can occupy. */
  readonly leases: Db
  /**
   * How often to look without being told: the safety net behind the notifications, and how long a claim of a dead
   * server stays unnoticed after its lease. In milliseconds.
   */
  readonly sweepMs: number
  /** How long this server may be without the database and still judge leases, in milliseconds. */
  readonly mostGapMs: number
  /** How long this server must have been in touch with the database to judge leases, in milliseconds. */
  readonly graceMs: number
}

export class ClaimLoop {
  readonly #options: ClaimLoopOptions
  readonly #overdueEnds = new OverdueEnds()
  readonly #contact: Contact
  #subscription: Subscription | undefined
  #sweep: NodeJS.Timeout | undefined
  #due: NodeJS.Timeout | undefined
  #pass: Promise<void> | undefined
  #isWoken = false
  /** Whether the queue may hold runs that were not seen: else a slot that becomes free is no reason to look. */
  #mayWait = true
  /** Whether it may hold runs that need a worker of their own. */
  #mayWaitAlone = true
  #isLooking = false
  #isSweeping = false
  /** From the end of `start` to `stop`: what was claimed before would be taken for a former life's, and given back. */
  #mayClaim = false

  constructor(options: ClaimLoopOptions) {
    this.#options = options
    this.#contact = new Contact({ mostGapMs: options.mostGapMs, lastingMs: options.graceMs })
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
    await this.#release(await findFormerClaims(db, claimer.serverId), { ending: "server_restarted" })
    this.#sweep = setInterval(() => void this.#look(), sweepMs)
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

  /** Nearly always nothing is lost: a server that sleeps asks one question. */
  async #look(): Promise<void> {
    // The one before may still wait for a database that is away.
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const { leases, streams } = this.#options
      const { isAnyInFlight, nowMs } = await lookAtQueue(leases)
      this.#contact.reached(nowMs)
      if (!this.#isSweeping && (isAnyInFlight || streams.openStreams > 0)) void this.#sweepLost()
    } catch (err) {
      this.#options.log.warn({ err }, "the queue could not be looked at")
    } finally {
      this.#isLooking = false
    }
  }

  async #sweepLost(): Promise<void> {
    this.#isSweeping = true
    try {
      await this.#releaseExpired()
      await this.#overdueEnds.tell(this.#options)
      this.#mayWaitAlone = true
      this.wake()
    } catch (err) {
      this.#options.log.warn({ err }, "lost claims could not be looked for")
    } finally {
      this.#isSweeping = false
    }
  }

  async #releaseExpired(): Promise<void> {
    const { leases, executor } = this.#options
    const untilMs = this.#contact.judgeUntilMs
    if (untilMs === undefined) return
    const expired = await findExpiredClaims(leases, { heldHere: executor.heldClaims(), untilMs })
    await this.#release(expired, { ending: "lease_ended", untilMs })
  }

  /** Returns what nobody holds any more to the queue; a run that was lost too often ends (R5). */
  async #release(
    claims: readonly LostClaim[],
    how: { ending: "lease_ended" | "server_restarted"; untilMs?: number },
  ): Promise<void> {
    const { db, log, streams } = this.#options
    const error = JSON.stringify(workerLost("its server"))
    for (const { runId, claimId } of claims) {
      const { outcome, status } = await releaseRun(db, { runId, claimId, watcher: undefined, ...how }, error)
      if (outcome !== "claim_lost") log.warn({ run_id: runId, outcome }, "a run of a lost server was taken back")
      if (outcome === "finished")
        await streams.announceEnd(runId, status ?? "error", status === "error" ? error : undefined)
      if (outcome === "rolled_back") await streams.announceEnd(runId, "rollback")
    }
  }
}
