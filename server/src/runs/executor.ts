/**
 * Executes the runs that this server has claimed: hands them to a worker, publishes what comes back, keeps the claims
 * alive and writes how they ended.
 *
 * X1 A claim ends in `ClaimWrites.finish`, in `releaseRun`, or by its lease.
 * X2 Nothing is published for a claim after it ended, even if its worker still talks.
 * X3 The `end` event follows the commit of the run's final status, so that a client that saw it reads the final state.
 * X4 Renewal is the truth about a claim: it tells who asked to stop it, who watches it, and whether it is still held.
 *    Notifications say the same sooner.
 * X5 Clients of a run that has left this server are served through the event log.
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import type { Ending } from "../checkpoints/claim-batch.js"
import type { ClaimWrites } from "../checkpoints/claim-writes.js"
import { firstSeq, stateEvent } from "../events/event.js"
import { metadataText, type Publisher, type Result, type RunStreams } from "../events/run-streams.js"
import type { LostReason, Workers } from "../workers/port.js"
import { type Claimer, releaseRun, renewLeases } from "./claims.js"
import { followElsewhere } from "./follow.js"
import type { ObservedRun, RunObserver } from "./observer.js"
import { findRun } from "./queries.js"
import { orderOf } from "./request.js"
import {
  type Claim,
  endingOf,
  isFinal,
  outcomeOf,
  type RunEnd,
  resultText,
  stateText,
  timedOut,
  workerLost,
} from "./run.js"
import { type RunLimit, startRunLimit, stopGraceMs } from "./run-limit.js"

export interface ExecutorOptions {
  readonly db: Database
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

/** The end of a run as it was committed. */
interface Written {
  readonly status: string
  readonly result: RunEnd
  readonly watchedBy: readonly string[]
}

interface Execution {
  readonly claim: Claim
  readonly publisher: Publisher
  readonly startedAt: number
  readonly limit: RunLimit
  readonly observed: ObservedRun | undefined
  /** Its claim is not held any more, so what its worker still does counts for nothing. */
  isAbandoned: boolean
}

// A third of the lease: two renewals may fail before the claim is lost.
const renewalsPerLease = 3

export class Executor {
  readonly #options: ExecutorOptions
  readonly #executions = new Map<string, Execution>()
  readonly #endings = new Set<Promise<void>>()
  /** Runs that were asked to stop and are not, or not yet, executed here. */
  readonly #earlyCancels = new Set<string>()
  #reserved = 0
  #renewal: NodeJS.Timeout | undefined
  #cancels: Subscription | undefined

  constructor(options: ExecutorOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { db, claimer } = this.#options
    const renew = () => void this.renew()
    this.#cancels = await db.listen("run_cancel", (runId) => this.#cancel(runId), renew)
    this.#renewal = setInterval(renew, claimer.leaseMs / renewalsPerLease)
    this.#renewal.unref()
  }

  get running(): number {
    return this.#executions.size
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
    const { workers, streams, log, runTimeoutMs, observer } = this.#options
    const { runId, threadId, attempt } = claim
    const former = this.#executions.get(runId)
    // Our own lease ended while its worker was busy: that attempt is over.
    if (former) this.#abandon(former)
    const publisher = streams.begin(claim)
    const limit = this.#limit(claim)
    const observed = observer?.started(claim)
    const execution: Execution = { claim, publisher, startedAt: performance.now(), limit, observed, isAbandoned: false }
    let hasSpoken = false
    this.#executions.set(runId, execution)
    log.info({ run_id: runId, thread_id: threadId, attempt }, "run started")
    publisher.publish("metadata", metadataText(runId, attempt))
    workers.execute(orderOf(claim), {
      onEvent: (event, data) => {
        if (!hasSpoken) observed?.firstEvent()
        hasSpoken = true
        return publisher.publish(event, data)
      },
      onDone: (result) => {
        const end = limit.isOver ? timedOut(result, runTimeoutMs) : result
        this.#conclude(execution, () => this.#finish(execution, end))
      },
      onLost: (reason, detail) => {
        // Its time was over when its worker died: it is not attempted again.
        const end = limit.isOver && endingOf(reason) !== "handed_back" ? timedOut(undefined, runTimeoutMs) : undefined
        this.#conclude(execution, () => (end ? this.#finish(execution, end) : this.#lose(execution, reason, detail)))
      },
    })
    if (this.#earlyCancels.delete(runId)) workers.cancel(claim.claimId)
  }

  /** R10: the run is asked to stop when its time is over; one that does not is ended without its worker. */
  #limit({ runId, claimId }: Claim): RunLimit {
    const { workers, runTimeoutMs, stopGraceMs: graceMs = stopGraceMs } = this.#options
    const onIgnored = () => {
      const execution = this.#executions.get(runId)
      if (execution?.claim.claimId !== claimId) return
      workers.giveUp(claimId)
      this.#conclude(execution, () => this.#finish(execution, timedOut(undefined, runTimeoutMs)))
    }
    return startRunLimit({ timeoutMs: runTimeoutMs, graceMs, onOver: () => workers.cancel(claimId), onIgnored })
  }

  /** Renews all claims of this server and does what was asked for meanwhile (X4). */
  async renew(): Promise<void> {
    const { db, log, claimer, streams } = this.#options
    this.#earlyCancels.clear()
    streams.forgetEarlyWatchers()
    const executions = [...this.#executions.values()]
    if (executions.length === 0) return
    try {
      const ids = executions.map(({ claim }) => claim.claimId)
      const held = new Map((await renewLeases(db, claimer, ids)).map((row) => [row.claim_id, row]))
      for (const execution of executions) this.#follow(execution, held.get(execution.claim.claimId))
    } catch (err) {
      log.warn({ err, runs: executions.length }, "leases could not be renewed")
    }
  }

  /** Stops renewing and waits until what has ended is written. Call after the workers were stopped. */
  async close(): Promise<void> {
    clearInterval(this.#renewal)
    await this.#cancels?.close()
    await Promise.all(this.#endings)
  }

  #follow(execution: Execution, held: Awaited<ReturnType<typeof renewLeases>>[number] | undefined): void {
    const { workers, streams } = this.#options
    const { runId } = execution.claim
    // It may have ended while the statement was on its way.
    if (this.#executions.get(runId) !== execution) return
    if (!held) {
      this.#abandon(execution)
      this.#track(this.#serveElsewhere(execution.claim))
      return
    }
    if (held.cancel_action !== null) workers.cancel(execution.claim.claimId)
    if (streams.isWatchedElsewhere(held.watched_by)) execution.publisher.startLogging()
  }

  #abandon(execution: Execution): void {
    const { workers, log, writes } = this.#options
    const { runId, claimId, attempt } = execution.claim
    log.warn({ run_id: runId, attempt }, "a run has moved on to another attempt")
    execution.isAbandoned = true
    execution.limit.stop()
    execution.observed?.ended("released")
    execution.publisher.detach()
    this.#executions.delete(runId)
    workers.cancel(claimId)
    writes.forget(execution.claim)
  }

  #conclude(execution: Execution, conclude: () => Promise<void>): void {
    const { runId } = execution.claim
    if (execution.isAbandoned) return
    execution.limit.stop()
    this.#executions.delete(runId)
    const ending = conclude().catch((err: unknown) => {
      // The lease ends by itself, and the run is attempted again.
      execution.publisher.detach()
      execution.observed?.ended("released")
      this.#options.log.error({ err, run_id: runId }, "the end of a run could not be written")
      return this.#serveElsewhere(execution.claim)
    })
    this.#track(ending)
  }

  #track(ending: Promise<void>): void {
    const { log } = this.#options
    const told = ending.catch((err: unknown) => log.error({ err }, "clients of a run that left could not be served"))
    this.#endings.add(told)
    void told.then(() => this.#endings.delete(told))
  }

  async #finish(execution: Execution, result: RunEnd): Promise<void> {
    const { log, streams } = this.#options
    const { claim, publisher, startedAt } = execution
    const finished = await this.#writeEnd(claim, result)
    execution.observed?.ended(finished?.status ?? "released")
    if (finished === undefined) {
      publisher.detach()
      log.warn({ run_id: claim.runId, attempt: claim.attempt }, "a run had moved on when it ended here")
      return this.#serveElsewhere(claim)
    }
    const { status, watchedBy } = finished
    const error = errorText(finished.result)
    const duration_ms = Math.round(performance.now() - startedAt)
    const { runId: run_id, threadId: thread_id, attempt } = claim
    const { error: failure, stack } = finished.result
    const reason = failure && { error: `${failure.error}: ${failure.message}`, ...(stack !== undefined && { stack }) }
    log.info({ run_id, thread_id, attempt, status, duration_ms, ...reason }, "run ended")
    if (streams.isWatchedElsewhere(watchedBy)) publisher.startLogging()
    if (status !== "rollback" && streams.threads.isWatched(thread_id)) {
      const state = stateText(claim, finished.result)
      if (state !== undefined) publisher.publish(stateEvent, state)
    }
    if (error !== null) publisher.publish("error", error)
    await publisher.end(status, error === null && status !== "rollback" ? resultFor(finished.result, claim) : undefined)
  }

  /**
   * Writes how a run ended, after all that it wrote. When something of that was refused, the run failed (K3).
   * @returns undefined when the claim was lost
   */
  async #writeEnd(claim: Claim, result: RunEnd): Promise<Written | undefined> {
    const { db, writes } = this.#options
    const { runId, threadId, attempt, deletesThread } = claim
    let kept = result
    const ending = (failure: Error | undefined): Ending => {
      kept = failure ? withoutState(result, failure) : result
      const { runStatus: status, threadStatus } = outcomeOf(kept)
      const { values = null, interrupts } = kept
      return { threadId, status, threadStatus, error: errorText(kept), values, interrupts, deletesThread }
    }
    // The last events of a logged run come before its end, as those of a super-step before its checkpoint.
    const order = { after: this.#options.streams.untilLogged(runId) }
    const written = await writes.finish(claim, ending, order).catch((error: unknown) => {
      if (error instanceof Unavailable) throw error
      // Postgres does not take the state itself: the run ends without it.
      return writes.finish(claim, () => ending(error as Error))
    })
    const { outcome, watchedBy, isRepeated } = written
    if (outcome === "finished") return { status: outcomeOf(kept).runStatus, result: kept, watchedBy }
    if (outcome === "rolled_back") return { status: "rollback", result: kept, watchedBy }
    const run = isRepeated ? await findRun(db, threadId, runId) : undefined
    // Its thread went with it: what was committed unheard is this.
    if (isRepeated && !run && deletesThread) return { status: outcomeOf(kept).runStatus, result: kept, watchedBy }
    if (!run || !isFinal(run.status) || run.attempt !== attempt) return undefined
    return { status: run.status, result: kept, watchedBy }
  }

  async #lose({ claim, publisher, observed }: Execution, reason: LostReason, detail: string): Promise<void> {
    const { db, log, streams, claimer, writes } = this.#options
    const { runId, claimId, attempt } = claim
    log.warn({ run_id: runId, attempt, reason, detail }, "a run was lost")
    if (reason === "claim_lost") {
      observed?.ended("released")
      publisher.detach()
      writes.forget(claim)
      return this.#serveElsewhere(claim)
    }
    // What the worker had written before it ended is progress that need not be made again.
    await writes.settled(claim)
    const error = JSON.stringify(workerLost(detail))
    const release = {
      runId,
      claimId,
      ending: endingOf(reason),
      watcher: streams.hasSubscribers(runId) ? claimer.serverId : undefined,
    }
    const released = await releaseRun(db, release, error)
    const isOver = released.outcome === "finished" || released.outcome === "rolled_back"
    observed?.ended(isOver ? (released.status ?? "rollback") : "released")
    if (released.outcome === "finished" || released.outcome === "rolled_back") {
      if (released.status === "error") publisher.publish("error", error)
      return publisher.end(released.outcome === "rolled_back" ? "rollback" : (released.status ?? "error"))
    }
    publisher.detach()
    return this.#serveElsewhere(claim)
  }

  /** Clients that are here go on hearing of a run which another server has, or will have (X5). */
  async #serveElsewhere({ runId, attempt }: Claim): Promise<void> {
    const { streams } = this.#options
    if (!streams.hasSubscribers(runId)) return
    // They have all of this attempt: whatever a later one has logged already is still to come for them.
    const status = await followElsewhere(this.#options, runId, firstSeq(attempt + 1) - 1)
    if (status !== undefined) streams.endAll(runId, status)
  }

  #cancel(runId: string): void {
    const execution = this.#executions.get(runId)
    if (execution) this.#options.workers.cancel(execution.claim.claimId)
    else this.#earlyCancels.add(runId)
  }
}

const errorText = ({ error }: RunEnd): string | null => (error ? JSON.stringify(error) : null)

/** How a run ends whose checkpoint, or whose end, Postgres did not take: what it reached is not what it says. */
const withoutState = (result: RunEnd, failure: Error): RunEnd => ({
  ...result,
  status: "error",
  error: result.error ?? { error: "StateNotSaved", message: `the run's state could not be saved: ${failure.message}` },
  values: undefined,
  interrupts: "{}",
})

const resultFor = ({ values, interrupts, status }: RunEnd, { deletesThread }: Claim): Result => ({
  text: () => resultText(values, interrupts, status === "interrupted"),
  isOnlyCopy: deletesThread,
})
