/**
 * Executes the runs that this server has claimed: gives them to a worker, publishes their events, holds the claims by the lease of the
 * server, and writes how the runs ended.
 *
 * X1 A claim ends in `AttemptJournal.finish`, in `releaseRun`, or when its server does not hold it any more.
 * X2 Nothing is published for a claim after it ended, even if its worker still sends events.
 * X3 The `end` event follows the commit of the run's final status, so that a client that got it reads the final state.
 * X4 The server renews one lease, for all its claims, until the end of each is committed. Then it reads which of them are still
 *    held, whether a stop was requested, and which servers watch the run. Hints bring the same news sooner.
 * X5 Clients of a run that has left this server are served through the event log.
 */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { must } from "@superstep/toolkit/errors/must"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Log } from "@superstep/toolkit/log/log"
import { type Clock, realClock } from "@superstep/toolkit/time/clock"
import type { Journal } from "../checkpoints/journal.js"
import type { AppendedEvents } from "../events/queries.js"
import type { Streams } from "../events/streams.js"
import { leaseTimes } from "../servers/lease-times.js"
import type { Peers } from "../servers/peers.js"
import type { Claimer } from "../servers/server.js"
import { type LanguageSlots, slotsForAnyGraph, slotsWithout, takes } from "../workers/language-slots.js"
import type { LostReason, RunOrder, Workers } from "../workers/port.js"
import { Attempt, startRunLimit, stopGraceMs } from "./attempt.js"
import { writeEnd } from "./attempt-end.js"
import { findHeldClaims, giveBackAfterLoss, type HeldClaim, releaseRun } from "./claims.js"
import type { RunObserver } from "./observer.js"
import { findUnsavedInputs } from "./queries.js"
import { orderOf } from "./request.js"
import { answeredInterrupts } from "./resume.js"
import { type Claim, checkpointGone, endingOf, isFailure, type RunEnd, timedOut, workerLost } from "./run.js"
import { tailElsewhere } from "./tail-elsewhere.js"

export interface ExecutorOptions {
  readonly db: Database
  /** Statements on leases, on a connection that nothing else can occupy. */
  readonly leases: Db
  readonly log: Log
  readonly workers: Workers
  readonly streams: Streams
  readonly journal: Journal
  readonly claimer: Claimer
  readonly peers: Pick<Peers, "runWaits" | "renew">
  /** How long an attempt may take, in milliseconds; 0: no limit. */
  readonly runTimeoutMs: number
  /** What workers record of an attempt; absent: nothing. */
  readonly traceOf?: (claim: Claim) => RunOrder["trace"]
  /** Notified of every attempt. */
  readonly observer?: RunObserver
  /** How long a run may take to stop after its time limit, in milliseconds. */
  readonly stopGraceMs?: number
  readonly clock?: Clock
}

export class Executor {
  readonly #options: ExecutorOptions
  readonly #clock: Clock
  /** All attempts whose claim this server holds, including those whose end is being written. */
  readonly #attempts = new Set<Attempt>()
  readonly #endings = new Set<Promise<void>>()
  /** Runs with a requested stop that do not, or not yet, execute here. */
  readonly #earlyCancels = new Set<string>()
  /** The graph of each run that is being created with a reserved slot. */
  readonly #reserved = new Set<{ readonly graphId: string }>()
  #cancelRenewal: () => void = () => undefined
  #renewing: Promise<unknown> = Promise.resolve()
  /** Whether the last renewal has failed. */
  #isCutOff = false
  #isClosed = false

  constructor(options: ExecutorOptions) {
    this.#options = options
    this.#clock = options.clock ?? realClock
  }

  /** Starts renewing the server's lease. */
  startRenewing(): void {
    this.#renewAfter(leaseTimes(this.#options.claimer.leaseMs).renewMs)
  }

  #renewAfter(ms: number): void {
    if (this.#isClosed) return
    this.#cancelRenewal = this.#clock.after(ms, async () => {
      const { renewMs, retryMs } = leaseTimes(this.#options.claimer.leaseMs)
      const startedAt = this.#clock.now()
      const renewing = this.renew()
      this.#renewing = renewing
      const isDone = await renewing
      const tookMs = this.#clock.now() - startedAt
      this.#renewAfter(isDone ? Math.max(retryMs, renewMs - tookMs) : retryMs)
    })
  }

  /** How many runs execute here, including those whose end is being written. */
  get running(): number {
    return this.#attempts.size
  }

  /** Claims that this server holds until their end is written. */
  heldClaims(): string[] {
    return [...this.#attempts].map(({ claim }) => claim.claimId)
  }

  /** Slots that are neither used nor reserved, for runs of any graph. */
  freeSlots(): number {
    return slotsForAnyGraph(this.slotsByLanguage())
  }

  /** The same for each language of the graphs. */
  slotsByLanguage(): readonly LanguageSlots[] {
    const reserved = [...this.#reserved].map(({ graphId }) => graphId)
    return slotsWithout(this.#options.workers.slotsByLanguage(), reserved)
  }

  /** Free slots for runs that execute in a worker of their own (R9). */
  freeSoloSlots(): number {
    return this.#options.workers.freeSoloSlots()
  }

  /**
   * Reserves a slot while a run of the graph is being created, so that the claim loop does not use it.
   * @returns a function that frees the slot, once; undefined when none is free
   */
  reserve(graphId: string): (() => void) | undefined {
    const isFree = this.slotsByLanguage().some((slots) => slots.free > 0 && takes(slots, graphId))
    if (!isFree) return undefined
    const reserved = { graphId }
    this.#reserved.add(reserved)
    return () => void this.#reserved.delete(reserved)
  }

  /**
   * Starts an attempt. Its first event is always `metadata` (agent-server-api §7.3).
   * @param firstLogged  its first events, when they were committed with the run
   */
  execute(claim: Claim, firstLogged?: AppendedEvents): void {
    const { workers, log, runTimeoutMs, traceOf } = this.#options
    const { runId, threadId, attempt: number } = claim
    const former = this.#executing(runId)
    // The reply to this claim came after a later attempt has begun here.
    if (former && former.claim.attempt > number) return
    // This server's own lease expired while the worker was busy: the former attempt is over.
    if (former) this.#abandon(former)
    const attempt = this.#begin(claim)
    log.info({ run_id: runId, thread_id: threadId, attempt: number }, "run started")
    const { publisher } = attempt
    publisher.publishFirst(answeredInterrupts(claim.kwargs), firstLogged)
    if (claim.hasLostCheckpoint) {
      this.#conclude(attempt, () => this.#finish(attempt, checkpointGone(claim)))
      return
    }
    workers.execute(
      { ...orderOf(claim), protocolEvents: publisher.hasProtocolEvents, trace: traceOf?.(claim) },
      {
        onEvent: (event, data) => attempt.publish(event, data),
        onSpans: (part) => attempt.observed?.spans?.(part),
        onDone: (result) => {
          const end = attempt.limit.isOver ? timedOut(result, runTimeoutMs) : result
          this.#conclude(attempt, () => this.#finish(attempt, end))
        },
        onLost: (reason, detail) => {
          // The time limit had passed when the worker died, so the run is not attempted again.
          const isOver = attempt.limit.isOver && endingOf(reason) !== "handed_back"
          this.#conclude(attempt, () =>
            isOver ? this.#finish(attempt, timedOut(undefined, runTimeoutMs)) : this.#lose(attempt, reason, detail),
          )
        },
      },
    )
    if (this.#earlyCancels.delete(runId)) workers.cancel(claim.claimId)
  }

  #begin(claim: Claim): Attempt {
    const { runId: run_id, claimId, attempt: number } = claim
    must(!this.heldClaims().includes(claimId), "R1", "a claim is executed once", { run_id, attempt: number })
    const { workers, streams, journal, observer, runTimeoutMs, stopGraceMs: graceMs = stopGraceMs } = this.#options
    // R10: at the time limit the worker is asked to stop the run. If it does not, the run is ended without it.
    const limit = startRunLimit({
      timeoutMs: runTimeoutMs,
      graceMs,
      clock: this.#clock,
      onOver: () => workers.cancel(claim.claimId),
      onIgnored: () => {
        workers.giveUp(claim.claimId)
        this.#conclude(attempt, () => this.#finish(attempt, timedOut(undefined, runTimeoutMs)))
      },
    })
    const own = journal.open(claim, { number, threadId: claim.threadId, deletesThread: claim.deletesThread })
    const publisher = streams.begin(claim, own)
    const attempt = new Attempt({
      claim,
      clock: this.#clock,
      limit,
      publisher,
      journal: own,
      observed: observer?.started(claim),
    })
    this.#attempts.add(attempt)
    return attempt
  }

  /**
   * Renews the lease of this server, if it executes runs, and acts on stops and watchers that were recorded meanwhile (X4).
   * @returns false when the database could not be reached
   */
  async renew(): Promise<boolean> {
    const { leases, log, claimer, streams, peers } = this.#options
    this.#earlyCancels.clear()
    streams.forgetEarlyWatchers()
    const attempts = [...this.#attempts]
    if (attempts.length === 0) return true
    try {
      await peers.renew(leases)
      const held = await findHeldClaims(leases, claimer.serverId, this.heldClaims())
      const byClaim = new Map(held.map((row) => [row.claim_id, row]))
      for (const attempt of attempts) this.#applyRenewal(attempt, byClaim.get(attempt.claim.claimId))
      this.#isCutOff = false
      return true
    } catch (err) {
      if (!this.#isCutOff) log.warn({ err, runs: attempts.length }, "the lease of this server could not be renewed")
      this.#isCutOff = true
      return false
    }
  }

  /** Stops renewing and waits until all ends are written. Call after the workers were stopped. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelRenewal()
    await Promise.all([...this.#endings, this.#renewing])
  }

  #applyRenewal(attempt: Attempt, held: HeldClaim | undefined): void {
    const { workers, streams, log } = this.#options
    // The attempt may have ended during the statement; then writing its end shows whether the claim was held.
    if (attempt.state !== "executing") return
    if (!held) {
      this.#abandon(attempt)
      this.#track(this.#serveElsewhere(attempt))
      this.#track(this.#giveBackAfterLoss(attempt.claim))
      return
    }
    if (held.cancel_action !== null) {
      log.debug({ run_id: attempt.claim.runId, promise: "D10" }, "a renewal found that a stop was requested")
      workers.cancel(attempt.claim.claimId)
    }
    if (streams.isWatchedElsewhere(held.watched_by)) attempt.publisher.noteWatched()
  }

  async #giveBackAfterLoss(claim: Claim): Promise<void> {
    const { leases, log } = this.#options
    await giveBackAfterLoss(leases, claim).catch((err: unknown) =>
      log.warn({ err, run_id: claim.runId }, "it is not known whether the database has lost the claim of a run"),
    )
  }

  #abandon(attempt: Attempt): void {
    const { log } = this.#options
    const { runId, attempt: number } = attempt.claim
    log.warn({ run_id: runId, attempt: number }, "a run has moved on to another attempt")
    attempt.leave()
    this.#attempts.delete(attempt)
    // A run that does not stop must not keep its slot, now that no time limit ends it.
    attempt.limit.expire()
  }

  #conclude(attempt: Attempt, conclude: () => Promise<void>): void {
    if (!attempt.beginEnd()) return
    const ending = conclude()
      .catch((err: unknown) => {
        // This server does not execute the run any more, so the next look at the queue gives it back.
        attempt.leave()
        this.#options.log.error({ err, run_id: attempt.claim.runId }, "the end of a run could not be written")
        return this.#serveElsewhere(attempt)
      })
      .finally(() => {
        attempt.journal.close()
        this.#attempts.delete(attempt)
      })
    this.#track(ending)
  }

  #track(ending: Promise<void>): void {
    const { log } = this.#options
    const caught = ending.catch((err: unknown) =>
      log.error({ err }, "clients of a run on another server could not be served"),
    )
    this.#endings.add(caught)
    void caught.then(() => this.#endings.delete(caught))
  }

  async #finish(attempt: Attempt, result: RunEnd): Promise<void> {
    const { log, streams, peers } = this.#options
    const { claim, publisher } = attempt
    const written = await writeEnd(this.#options, attempt, result)
    if (written === undefined) {
      attempt.leave()
      log.warn({ run_id: claim.runId, attempt: claim.attempt }, "a run ended here, but its claim was lost before")
      return this.#serveElsewhere(attempt)
    }
    attempt.observed?.ended(written.status)
    this.#logEnd(attempt, written.status, written.result)
    if (written.waiting) peers.runWaits(written.waiting)
    if (streams.isWatchedElsewhere(written.watchedBy)) publisher.noteWatched()
    await publisher.end(written.runEnding, written.lastLogged)
  }

  #logEnd(
    { claim, durationMs: duration_ms }: Attempt,
    status: string,
    { error, stack }: Partial<Pick<RunEnd, "error" | "stack">>,
  ): void {
    const { runId: run_id, threadId: thread_id, attempt } = claim
    const reason = error && { error: `${error.error}: ${error.message}`, ...(stack !== undefined && { stack }) }
    const fields = { run_id, thread_id, attempt, status, duration_ms, ...reason }
    // A failed run is an error of the deployment: a log that shows only errors must contain it.
    this.#options.log[isFailure(status) ? "error" : "info"](fields, "run ended")
  }

  async #lose(attempt: Attempt, reason: LostReason, detail: string): Promise<void> {
    const { db, log, streams, claimer, peers } = this.#options
    const { claim, publisher, journal, observed } = attempt
    const { runId, claimId } = claim
    const promise = endingOf(reason) === "handed_back" ? "D6" : "D1"
    log.warn({ run_id: runId, attempt: claim.attempt, reason, detail, promise }, "a run was lost")
    if (reason === "claim_lost") {
      attempt.leave()
      return this.#serveElsewhere(attempt)
    }
    // Saves the worker's last writes, so that this progress is not repeated, and its events: nothing is written for an attempt that is over.
    await journal.settled()
    const ending = endingOf(reason)
    const lost = workerLost(detail, ending)
    const error = toJsonText(lost)
    const watcher = streams.runs.has(runId) ? claimer.serverId : undefined
    const released = await releaseRun(db, { runId, claimId, ending, watcher }, error)
    if (released.waiting) peers.runWaits(released.waiting)
    if (released.outcome === "finished" || released.outcome === "rolled_back") {
      observed?.ended(released.status ?? "rollback")
      const status = released.outcome === "rolled_back" ? "rollback" : (released.status ?? "error")
      if (status === "error") log.warn({ run_id: runId, promise: "D2" }, "a run was lost too often")
      this.#logEnd(attempt, status, status === "error" ? { error: lost } : {})
      const isUnsaved = (await findUnsavedInputs(db, [runId])).length > 0
      return publisher.end({ status, error: status === "error" ? error : undefined, isUnsaved })
    }
    attempt.leave()
    return this.#serveElsewhere(attempt)
  }

  /** Keeps sending this server's clients the events of a run that another server has, or will have (X5). */
  async #serveElsewhere({ claim: { runId }, journal, publisher }: Attempt): Promise<void> {
    const { streams, log } = this.#options
    if (!streams.runs.has(runId)) return
    log.info({ run_id: runId, promise: "D11" }, "clients of a run that has moved on are served from its log")
    await journal.settled()
    // The log may have more of this attempt: what was committed, although the answer was lost; and all that later attempts have logged.
    const after = publisher.delivered
    // An attempt often leaves because the database is away.
    await this.#options.journal.read(async () => {
      const ended = await tailElsewhere(this.#options, runId, after)
      if (ended !== undefined) await streams.endTailed(runId, after, ended)
    })
  }

  #executing(runId: string): Attempt | undefined {
    for (const attempt of this.#attempts) {
      if (attempt.claim.runId === runId && attempt.state === "executing") return attempt
    }
    return undefined
  }

  /** Stops a run that executes here, or is about to. */
  cancel(runId: string): void {
    const attempt = this.#executing(runId)
    if (attempt) this.#options.workers.cancel(attempt.claim.claimId)
    else this.#earlyCancels.add(runId)
  }
}
