/**
 * Executes the runs that this server has claimed: hands them to a worker, publishes what comes back, keeps the claims
 * alive and writes how they ended.
 *
 * X1 A claim ends in `AttemptWrites.finish`, in `releaseRun`, or by its lease.
 * X2 Nothing is published for a claim after it ended, even if its worker still talks.
 * X3 The `end` event follows the commit of the run's final status, so that a client that saw it reads the final state.
 * X4 Renewal is the truth about a claim: it tells who asked to stop it, who watches it, and whether it is still held.
 *    Notifications say the same sooner. A claim is renewed until its end is committed.
 * X5 Clients of a run that has left this server are served through the event log.
 */
import type { Database, Db } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import type { ClaimWrites } from "../checkpoints/claim-writes.js"
import { firstSeq } from "../events/event.js"
import { metadataText } from "../events/publisher.js"
import type { RunStreams } from "../events/run-streams.js"
import type { LostReason, Workers } from "../workers/port.js"
import { Attempt } from "./attempt.js"
import { type Written, writeEnd } from "./attempt-end.js"
import { type Claimer, type HeldClaim, releaseRun, renewLeases } from "./claims.js"
import { followElsewhere } from "./follow.js"
import { leaseTimes } from "./lease-times.js"
import type { RunObserver } from "./observer.js"
import { orderOf } from "./request.js"
import { type Claim, endingOf, type RunEnd, timedOut, workerLost } from "./run.js"
import { startRunLimit, stopGraceMs } from "./run-limit.js"

export interface ExecutorOptions {
  readonly db: Database
  /** Statements on leases, on a connection that nothing else can occupy. */
  readonly leases: Db
  readonly log: Log
  readonly workers: Workers
  readonly streams: RunStreams
  readonly writes: ClaimWrites
  readonly claimer: Claimer
  /** How long an attempt may take, in milliseconds; 0 for ever. */
  readonly runTimeoutMs: number
  /** Hears of every attempt. */
  readonly observer?: RunObserver
  /** How long a run that was stopped by its time may take to stop, in milliseconds. */
  readonly stopGraceMs?: number
}

export class Executor {
  readonly #options: ExecutorOptions
  /** All attempts whose claim this server holds, also while their end is being written. */
  readonly #attempts = new Set<Attempt>()
  readonly #endings = new Set<Promise<void>>()
  /** Runs that were asked to stop and are not, or not yet, executed here. */
  readonly #earlyCancels = new Set<string>()
  #reserved = 0
  #renewal: NodeJS.Timeout | undefined
  /** Whether the last renewal has failed. */
  #isCutOff = false
  #isClosed = false
  #cancels: Subscription | undefined

  constructor(options: ExecutorOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { db } = this.#options
    const renew = () => void this.renew()
    this.#cancels = await db.listen("run_cancel", (runId) => this.#cancel(runId), renew)
    this.#renewAfter(leaseTimes(this.#options.claimer.leaseMs).renewMs)
  }

  #renewAfter(ms: number): void {
    if (this.#isClosed) return
    this.#renewal = setTimeout(async () => {
      const { renewMs, retryMs } = leaseTimes(this.#options.claimer.leaseMs)
      const startedAt = performance.now()
      const isDone = await this.renew()
      const tookMs = performance.now() - startedAt
      this.#renewAfter(isDone ? Math.max(retryMs, renewMs - tookMs) : retryMs)
    }, ms)
    this.#renewal.unref()
  }

  /** Runs that execute here, or whose end is being written. */
  get running(): number {
    return this.#attempts.size
  }

  /** Claims that this server executes or ends, and renews until that is written. */
  heldClaims(): string[] {
    return [...this.#attempts].map(({ claim }) => claim.claimId)
  }

  /** Slots that are neither taken nor promised. */
  freeSlots(): number {
    return Math.max(0, this.#options.workers.freeSlots() - this.#reserved)
  }

  /** Places for runs that execute in a worker of their own (R9). */
  freeSoloSlots(): number {
    return this.#options.workers.freeSoloSlots()
  }

  /**
   * Keeps a slot while a run is being created, so that the claimer does not give it away.
   * @returns a function that gives the slot back, once; undefined when none is free
   */
  reserve(): (() => void) | undefined {
    if (this.freeSlots() === 0) return undefined
    this.#reserved++
    let isKept = true
    return () => {
      if (isKept) this.#reserved--
      isKept = false
    }
  }

  /** Starts an attempt. Its first event is always `metadata` (agent-server-api §7.3). */
  execute(claim: Claim): void {
    const { workers, log, runTimeoutMs } = this.#options
    const { runId, threadId, attempt: number } = claim
    const former = this.#executing(runId)
    // Our own lease ended while its worker was busy: that attempt is over.
    if (former) this.#abandon(former)
    const attempt = this.#begin(claim)
    log.info({ run_id: runId, thread_id: threadId, attempt: number }, "run started")
    attempt.publisher.publish("metadata", metadataText(runId, number))
    workers.execute(orderOf(claim), {
      onEvent: (event, data) => attempt.publish(event, data),
      onDone: (result) => {
        const end = attempt.limit.isOver ? timedOut(result, runTimeoutMs) : result
        this.#conclude(attempt, () => this.#finish(attempt, end))
      },
      onLost: (reason, detail) => {
        // Its time was over when its worker died: it is not attempted again.
        const isOver = attempt.limit.isOver && endingOf(reason) !== "handed_back"
        this.#conclude(attempt, () =>
          isOver ? this.#finish(attempt, timedOut(undefined, runTimeoutMs)) : this.#lose(attempt, reason, detail),
        )
      },
    })
    if (this.#earlyCancels.delete(runId)) workers.cancel(claim.claimId)
  }

  #begin(claim: Claim): Attempt {
    const { workers, streams, writes, observer, runTimeoutMs, stopGraceMs: graceMs = stopGraceMs } = this.#options
    // R10: the run is asked to stop when its time is over; one that does not is ended without its worker.
    const limit = startRunLimit({
      timeoutMs: runTimeoutMs,
      graceMs,
      onOver: () => workers.cancel(claim.claimId),
      onIgnored: () => {
        workers.giveUp(claim.claimId)
        this.#conclude(attempt, () => this.#finish(attempt, timedOut(undefined, runTimeoutMs)))
      },
    })
    const parts = { publisher: streams.begin(claim), writes: writes.open(claim), observed: observer?.started(claim) }
    const attempt = new Attempt({ claim, limit, ...parts })
    this.#attempts.add(attempt)
    return attempt
  }

  /**
   * Renews all claims of this server and does what was asked for meanwhile (X4).
   * @returns false when the database could not be asked
   */
  async renew(): Promise<boolean> {
    const { leases, log, claimer, streams } = this.#options
    this.#earlyCancels.clear()
    streams.forgetEarlyWatchers()
    const attempts = [...this.#attempts]
    if (attempts.length === 0) return true
    try {
      const held = await renewLeases(leases, claimer, this.heldClaims())
      const byClaim = new Map(held.map((row) => [row.claim_id, row]))
      for (const attempt of attempts) this.#follow(attempt, byClaim.get(attempt.claim.claimId))
      this.#isCutOff = false
      return true
    } catch (err) {
      if (!this.#isCutOff) log.warn({ err, runs: attempts.length }, "leases could not be renewed")
      this.#isCutOff = true
      return false
    }
  }

  /** Stops renewing and waits until what has ended is written. Call after the workers were stopped. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#renewal)
    await this.#cancels?.close()
    await Promise.all(this.#endings)
  }

  #follow(attempt: Attempt, held: HeldClaim | undefined): void {
    const { workers, streams } = this.#options
    // It may have ended while the statement was on its way; then its end tells whether the claim was held.
    if (attempt.state !== "executing") return
    if (!held) {
      this.#abandon(attempt)
      this.#track(this.#serveElsewhere(attempt.claim))
      return
    }
    if (held.cancel_action !== null) workers.cancel(attempt.claim.claimId)
    if (streams.isWatchedElsewhere(held.watched_by)) attempt.publisher.startLogging()
  }

  #abandon(attempt: Attempt): void {
    const { workers, log } = this.#options
    const { runId, claimId, attempt: number } = attempt.claim
    log.warn({ run_id: runId, attempt: number }, "a run has moved on to another attempt")
    attempt.leave()
    this.#attempts.delete(attempt)
    workers.cancel(claimId)
  }

  #conclude(attempt: Attempt, conclude: () => Promise<void>): void {
    if (!attempt.beginEnd()) return
    const ending = conclude()
      .catch((err: unknown) => {
        // The lease ends by itself, and the run is attempted again.
        attempt.leave()
        this.#options.log.error({ err, run_id: attempt.claim.runId }, "the end of a run could not be written")
        return this.#serveElsewhere(attempt.claim)
      })
      .finally(() => {
        attempt.writes.close()
        this.#attempts.delete(attempt)
      })
    this.#track(ending)
  }

  #track(ending: Promise<void>): void {
    const { log } = this.#options
    const told = ending.catch((err: unknown) => log.error({ err }, "clients of a run that left could not be served"))
    this.#endings.add(told)
    void told.then(() => this.#endings.delete(told))
  }

  async #finish(attempt: Attempt, result: RunEnd): Promise<void> {
    const { log } = this.#options
    const { claim } = attempt
    const written = await writeEnd(this.#options, attempt, result)
    if (written === undefined) {
      attempt.leave()
      log.warn({ run_id: claim.runId, attempt: claim.attempt }, "a run had moved on when it ended here")
      return this.#serveElsewhere(claim)
    }
    attempt.observed?.ended(written.status)
    this.#logEnd(attempt, written)
    await this.#publishEnd(attempt, written)
  }

  #logEnd({ claim, durationMs: duration_ms }: Attempt, { status, result }: Written): void {
    const { runId: run_id, threadId: thread_id, attempt } = claim
    const { error, stack } = result
    const reason = error && { error: `${error.error}: ${error.message}`, ...(stack !== undefined && { stack }) }
    this.#options.log.info({ run_id, thread_id, attempt, status, duration_ms, ...reason }, "run ended")
  }

  async #publishEnd({ publisher }: Attempt, { watchedBy, words, logged }: Written): Promise<void> {
    if (this.#options.streams.isWatchedElsewhere(watchedBy)) publisher.startLogging()
    await publisher.end(words, logged)
  }

  async #lose(attempt: Attempt, reason: LostReason, detail: string): Promise<void> {
    const { db, log, streams, claimer } = this.#options
    const { claim, publisher, writes, observed } = attempt
    const { runId, claimId } = claim
    log.warn({ run_id: runId, attempt: claim.attempt, reason, detail }, "a run was lost")
    if (reason === "claim_lost") {
      attempt.leave()
      return this.#serveElsewhere(claim)
    }
    // What the worker had written before it ended is progress that need not be repeated. Its events are logged first, since
    // the log refuses events of an attempt that is over.
    await Promise.all([writes.settled(), streams.untilPublished(runId)])
    const error = JSON.stringify(workerLost(detail))
    const watcher = streams.hasSubscribers(runId) ? claimer.serverId : undefined
    const released = await releaseRun(db, { runId, claimId, ending: endingOf(reason), watcher }, error)
    if (released.outcome === "finished" || released.outcome === "rolled_back") {
      observed?.ended(released.status ?? "rollback")
      const status = released.outcome === "rolled_back" ? "rollback" : (released.status ?? "error")
      return publisher.end({ status, error: status === "error" ? error : undefined })
    }
    attempt.leave()
    return this.#serveElsewhere(claim)
  }

  /** Clients that are here go on hearing of a run which another server has, or will have (X5). */
  async #serveElsewhere({ runId, attempt }: Claim): Promise<void> {
    const { streams } = this.#options
    if (!streams.hasSubscribers(runId)) return
    await streams.untilPublished(runId)
    // They have all of this attempt: whatever a later one has logged already is still to come for them.
    const status = await followElsewhere(this.#options, runId, firstSeq(attempt + 1) - 1)
    if (status !== undefined) streams.endAll(runId, status)
  }

  #executing(runId: string): Attempt | undefined {
    for (const attempt of this.#attempts) {
      if (attempt.claim.runId === runId && attempt.state === "executing") return attempt
    }
    return undefined
  }

  #cancel(runId: string): void {
    const attempt = this.#executing(runId)
    if (attempt) this.#options.workers.cancel(attempt.claim.claimId)
    else this.#earlyCancels.add(runId)
  }
}
