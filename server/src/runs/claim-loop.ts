/**
 * Claims waiting runs while this server has free slots: when a message announces one (`Peers`), when a slot becomes free, when
 * a delayed run is due, and every few seconds in case a message was lost. One pass runs at a time. A pass that finds no free
 * slot, or fills the last one, passes the message on to another server.
 */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { isSqlState, sqlState } from "@superstep/toolkit/db/database"
import type { Hints } from "@superstep/toolkit/db/hints"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Log } from "@superstep/toolkit/log/log"
import { type Clock, realClock } from "@superstep/toolkit/time/clock"
import type { Streams } from "../events/streams.js"
import { Contact } from "../servers/contact.js"
import type { LocalServer, Peers } from "../servers/peers.js"
import type { Claimer, WaitingRun } from "../servers/server.js"
import {
  claimRuns,
  findFormerClaims,
  findUnheldClaims,
  type LostClaim,
  nextDueMs,
  readQueueState,
  releaseRun,
} from "./claims.js"
import type { Executor } from "./executor.js"
import { OverdueEnds } from "./overdue-ends.js"
import { findUnsavedInputs } from "./queries.js"
import { workerLost } from "./run.js"

type LostBy = "server_restarted" | "lease_ended" | "abandoned"

// As long as a commit of attempts waits for rows that another transaction has.
const lockMs = 2_000

export interface ClaimLoopOptions {
  readonly db: Database
  readonly log: Log
  readonly executor: Executor
  readonly streams: Streams
  readonly claimer: Claimer
  readonly peers: Pick<Peers, "runWaits" | "passOn" | "look">
  readonly hints: Pick<Hints, "send">
  /** Statements on leases, on a connection that nothing else can occupy. */
  readonly leases: Db
  /**
   * How often to look at the queue without a message, in milliseconds. This is the longest wait of a run whose message was
   * lost, and the longest time until an expired claim of a dead server is noticed.
   */
  readonly sweepMs: number
  /** How long this server may be without the database and still act on expired leases, in milliseconds. */
  readonly maxGapMs: number
  /** How long this server must have been in contact with the database before it acts on expired leases, in milliseconds. */
  readonly graceMs: number
  readonly clock?: Clock
}

export class ClaimLoop {
  readonly #options: ClaimLoopOptions
  readonly #overdueEnds = new OverdueEnds()
  readonly #contact: Contact
  readonly #clock: Clock
  #cancelSweep: () => void = () => undefined
  #cancelDue: () => void = () => undefined
  #pass: Promise<void> | undefined
  #isWoken = false
  /** Whether runs may wait that the last pass did not claim; if not, a slot that becomes free starts no pass. */
  #mayHaveMore = true
  /** The same for runs that need a worker of their own. */
  #mayHaveMoreAlone = true
  #isLooking = false
  #isSweeping = false
  /** True from the end of `start` to `stop`. An earlier claim would be released as one of this server's former process. */
  #mayClaim = false

  constructor(options: ClaimLoopOptions) {
    this.#options = options
    this.#clock = options.clock ?? realClock
    this.#contact = new Contact({ maxGapMs: options.maxGapMs, lastingMs: options.graceMs })
  }

  async start(): Promise<void> {
    const { db, claimer } = this.#options
    // Claims of this server's former process are lost. Other servers notice this only when the lease ends.
    const former = await findFormerClaims(db, claimer.serverId)
    await this.#release(former.map((claim) => ({ ...claim, ending: "server_restarted" as const })))
    this.#mayClaim = true
    this.#lookRegularly()
    this.wake()
  }

  #lookRegularly(): void {
    void this.#look()
    this.#cancelSweep = this.#clock.after(this.#options.sweepMs, () => this.#lookRegularly())
  }

  /** Looks for waiting runs. Without a free slot, the message is passed on to another server. */
  look({ runsAlone }: Pick<WaitingRun, "runsAlone">): void {
    const { executor, peers } = this.#options
    if (runsAlone) this.#mayHaveMoreAlone = true
    const canTake = this.#mayClaim && (!runsAlone || executor.freeSoloSlots() > 0)
    if (canTake) this.wake()
    else peers.passOn({ runsAlone })
  }

  /** Looks for runs of every kind. */
  lookForAll(): void {
    this.#mayHaveMoreAlone = true
    this.wake()
  }

  /** Starts a pass, or another one after the present pass. */
  wake(): void {
    this.#isWoken = true
    if (!this.#mayClaim) return
    this.#pass ??= this.#claimAll().finally(() => {
      this.#pass = undefined
      // `wake` was called again while the pass ended.
      if (this.#isWoken) this.wake()
    })
  }

  /** Called when a slot becomes free: starts a pass, unless the last one claimed all waiting runs and no message came since. */
  slotFreed(): void {
    if (this.#mayHaveMore || this.#mayHaveMoreAlone) this.wake()
  }

  /** Stops claiming; resolves when the present pass is over. */
  async stop(): Promise<void> {
    this.#mayClaim = false
    this.#cancelSweep()
    this.#cancelDue()
    await this.#pass
  }

  async #claimAll(): Promise<void> {
    const { executor, claimer, peers, log } = this.#options
    try {
      while (this.#isWoken && this.#mayClaim) {
        this.#isWoken = false
        await this.#claimAlone()
        this.#mayHaveMore = executor.freeSlots() === 0
        if (await this.#claimShared()) this.#isWoken = true
        else if (this.#mayHaveMore) peers.passOn({ runsAlone: false })
      }
      if (this.#mayClaim) await this.#lookAhead()
    } catch (err) {
      // The next free slot or the sweep tries again.
      this.#mayHaveMore = true
      this.#mayHaveMoreAlone = true
      log.warn({ err, server_id: claimer.serverId }, "the queue could not be read")
    }
  }

  /** Called when no more runs can start now: sets the timer for the next delayed run, of either kind. */
  async #lookAhead(): Promise<void> {
    const { db, executor } = this.#options
    // A full server needs no timer: it claims when a slot becomes free.
    if (executor.slotsByLanguage().every(({ free }) => free === 0)) return
    const dueMs = await nextDueMs(db)
    // Claims again: a run that became due between the two statements, or whose row was locked, is in neither result.
    const isFull = executor.freeSlots() === 0
    const isUsedUp = this.#mayClaim && (await this.#claimShared())
    this.#mayHaveMore = isFull || isUsedUp
    this.#wakeWhenDue(dueMs)
  }

  /**
   * Claims runs for the free slots of each language (R13).
   * @returns whether all free slots of a language were used, so that more of its runs may wait
   */
  async #claimShared(): Promise<boolean> {
    const { executor } = this.#options
    let isUsedUp = false
    for (const { free, otherGraphs } of executor.slotsByLanguage()) {
      if (free === 0) continue
      const claims = await this.#claim({ limit: free, runsAlone: false, exceptGraphs: otherGraphs })
      for (const claim of claims) executor.execute(claim)
      if (claims.length === free) isUsedUp = true
    }
    return isUsedUp
  }

  /** Runs that need a worker of their own (R9) are rare, so the statement is sent only when there may be some. */
  async #claimAlone(): Promise<void> {
    const { executor } = this.#options
    const free = executor.freeSoloSlots()
    if (!this.#mayHaveMoreAlone || free === 0) return
    // Reset before the statement, so that a message that arrives during the statement counts.
    this.#mayHaveMoreAlone = false
    const claims = await this.#claim({ limit: free, runsAlone: true })
    for (const claim of claims) executor.execute(claim)
    if (claims.length === free) this.#mayHaveMoreAlone = true
  }

  async #claim(wanted: Parameters<typeof claimRuns>[2]) {
    const { db, claimer } = this.#options
    try {
      return await claimRuns(db, claimer, wanted)
    } catch (error) {
      // Another server started a run of the same thread at this moment (R2): look again.
      if (!isSqlState(error, sqlState.uniqueViolation, "runs_one_running_per_thread")) throw error
      this.#isWoken = true
      this.#mayHaveMoreAlone ||= wanted.runsAlone
      return []
    }
  }

  #wakeWhenDue(dueMs: number | undefined): void {
    this.#cancelDue()
    if (dueMs === undefined || !this.#mayClaim) return
    this.#cancelDue = this.#clock.after(Math.max(1, Math.min(dueMs, 2 ** 31 - 1)), () => this.lookForAll())
  }

  /** The regular look at the queue. An idle server sends two short statements. */
  async #look(): Promise<void> {
    // The previous look may still wait for an unavailable database.
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const { leases, streams, peers } = this.#options
      const { isAnyInFlight, nowMs } = await readQueueState(leases)
      this.#contact.reached(nowMs)
      await peers.look(leases)
      if (!this.#isSweeping && (isAnyInFlight || streams.openStreams > 0)) void this.#sweepLost()
    } catch (err) {
      this.#options.log.warn({ err }, "the queue could not be polled")
    } finally {
      this.#isLooking = false
    }
  }

  async #sweepLost(): Promise<void> {
    this.#isSweeping = true
    try {
      await this.#releaseUnheld()
      await this.#overdueEnds.announceMissingEnds(this.#options)
      this.lookForAll()
    } catch (err) {
      this.#options.log.warn({ err }, "claims that nobody executes could not be searched")
    } finally {
      this.#isSweeping = false
    }
  }

  async #releaseUnheld(): Promise<void> {
    const { leases, executor, claimer, log } = this.#options
    const untilMs = this.#contact.judgeUntilMs
    if (untilMs === undefined) {
      log.debug({ promise: "D7" }, "expired leases are not judged: the contact with the database has not lasted")
      return
    }
    const { serverId } = claimer
    const unheld = await findUnheldClaims(leases, { serverId, heldHere: executor.heldClaims(), untilMs })
    await this.#release(unheld, untilMs)
  }

  /** Returns runs with lost claims to the queue; a run that was lost too often ends (R5). */
  async #release(claims: readonly (LostClaim & { readonly ending: LostBy })[], untilMs?: number): Promise<void> {
    const { log, executor } = this.#options
    for (const { ending, ...claim } of claims) {
      // The reply to its claim may have arrived since it was found.
      if (ending === "abandoned" && executor.heldClaims().includes(claim.claimId)) continue
      // The next look finds it again; the others need not wait for what keeps this one.
      await this.#releaseOne(claim, ending, untilMs).catch((err: unknown) => {
        log.warn({ err, run_id: claim.runId }, "a run that no server executes could not be taken back")
      })
    }
  }

  async #releaseOne({ runId, threadId, claimId }: LostClaim, ending: LostBy, untilMs?: number): Promise<void> {
    const { db, log, streams, peers, hints } = this.#options
    const error = toJsonText(workerLost("its server"))
    const release = { runId, claimId, ending, watcher: undefined, lockMs, ...(untilMs !== undefined && { untilMs }) }
    const { outcome, status, waiting } = await releaseRun(db, release, error)
    if (waiting) peers.runWaits(waiting)
    if (outcome === "finished") hints.send("webhooks_due")
    const promise = ending === "abandoned" ? undefined : ending === "lease_ended" ? "D4" : "D3"
    const facts = { run_id: runId, outcome, ...(promise && { promise }) }
    const what = promise
      ? "a run of a lost server was taken back"
      : "a run that this server had claimed and did not execute was given back"
    if (outcome !== "claim_lost") log.warn(facts, what)
    if (outcome === "finished") {
      const isUnsaved = (await findUnsavedInputs(db, [runId])).length > 0
      await streams.announceEnd(runId, status ?? "error", { threadId, isUnsaved, ...(status === "error" && { error }) })
    }
    if (outcome === "rolled_back") await streams.announceEnd(runId, "rollback", { threadId })
  }
}

/** Handles messages of other servers. */
export const localServer = (loop: ClaimLoop, executor: Executor): LocalServer => ({
  look: (kind) => loop.look(kind),
  cancel: (runId) => executor.cancel(runId),
  room: () => ({ freeSlots: executor.freeSlots(), freeSoloSlots: executor.freeSoloSlots() }),
  lookForAll: () => {
    loop.lookForAll()
    void executor.renew()
  },
})
