/**
 * Executes the runs that this server has claimed: hands them to a worker, publishes what comes back, keeps the claims
 * alive and writes how they ended.
 *
 * It owns every claim of this server. X1 A claim ends in `finishRun`, in `releaseClaim`, or by its lease. X2 Nothing is
 * published for a run after its claim ended. X3 The `end` event follows the commit of the run's final status, so that a
 * client that saw it reads the final state.
 */
import type { Database } from "@superstep/toolkit/db/database"
import type { Subscription } from "@superstep/toolkit/db/listen"
import type { Log } from "@superstep/toolkit/log/log"
import type { Publisher, RunStreams } from "../events/run-streams.js"
import type { RunFailure, RunResult, Workers } from "../workers/port.js"
import { type Claimer, releaseClaim, renewLeases } from "./claims.js"
import { finishRun } from "./queries.js"
import { orderOf } from "./request.js"
import { type Claim, maxAttempts, outcomeOf } from "./run.js"

export interface ExecutorOptions {
  readonly db: Database
  readonly log: Log
  readonly workers: Workers
  readonly streams: RunStreams
  readonly claimer: Claimer
}

interface Execution {
  readonly claim: Claim
  readonly publisher: Publisher
  readonly startedAt: number
}

// A third of the lease: two renewals may fail before the claim is lost.
const renewalsPerLease = 3

export class Executor {
  readonly #options: ExecutorOptions
  readonly #executions = new Map<string, Execution>()
  readonly #endings = new Set<Promise<void>>()
  #reserved = 0
  #renewal: NodeJS.Timeout | undefined
  #cancels: Subscription | undefined

  constructor(options: ExecutorOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { db, claimer } = this.#options
    this.#cancels = await db.listen("run_cancel", (runId) => this.#cancel(runId))
    this.#renewal = setInterval(() => void this.#renew(), claimer.leaseMs / renewalsPerLease)
    this.#renewal.unref()
  }

  get running(): number {
    return this.#executions.size
  }

  /** Slots that are neither taken nor promised. */
  freeSlots(): number {
    return Math.max(0, this.#options.workers.freeSlots() - this.#reserved)
  }

  /**
   * Keeps a slot while a run is being created, so that the claimer does not give it away.
   * @returns a function that gives the slot back; undefined when none is free
   */
  reserve(): (() => void) | undefined {
    if (this.freeSlots() === 0) return undefined
    this.#reserved++
    return () => {
      this.#reserved--
    }
  }

  /** Starts an attempt. Its first event is always `metadata` (agent-server-api §7.3). */
  execute(claim: Claim): void {
    const { workers, streams, log } = this.#options
    const publisher = streams.begin(claim)
    const execution = { claim, publisher, startedAt: performance.now() }
    this.#executions.set(claim.runId, execution)
    log.info({ run_id: claim.runId, thread_id: claim.threadId, attempt: claim.attempt }, "run started")
    publisher.publish("metadata", JSON.stringify({ run_id: claim.runId, attempt: claim.attempt }))
    workers.execute(orderOf(claim), {
      onEvent: (event, data) => publisher.publish(event, data),
      onDone: (result) => this.#conclude(execution, () => this.#finish(execution, result)),
      onLost: (reason, detail) => this.#conclude(execution, () => this.#lose(execution, reason, detail)),
    })
  }

  /** Stops renewing and waits until what has ended is written. Call after the workers were stopped. */
  async close(): Promise<void> {
    clearInterval(this.#renewal)
    await this.#cancels?.close()
    await Promise.all(this.#endings)
  }

  #conclude(execution: Execution, conclude: () => Promise<void>): void {
    this.#executions.delete(execution.claim.runId)
    const ending = conclude().catch((err: unknown) => {
      // The lease ends by itself, and the run is attempted again.
      execution.publisher.detach()
      this.#options.log.error({ err, run_id: execution.claim.runId }, "the end of a run could not be written")
    })
    this.#endings.add(ending)
    void ending.then(() => this.#endings.delete(ending))
  }

  async #finish({ claim, publisher, startedAt }: Execution, result: RunResult): Promise<void> {
    const { db, log, claimer } = this.#options
    const { runStatus, threadStatus } = outcomeOf(result)
    const error = result.error ? JSON.stringify(result.error) : null
    const finished = await finishRun(db, {
      runId: claim.runId,
      claimId: claim.claimId,
      status: runStatus,
      threadStatus,
      error,
      values: result.values ?? null,
      interrupts: result.interrupts,
    })
    if (finished.outcome === "claim_lost") {
      publisher.detach()
      log.warn({ run_id: claim.runId, attempt: claim.attempt }, "a run had moved on when it ended here")
      return
    }
    const status = finished.outcome === "rolled_back" ? "rollback" : runStatus
    const duration_ms = Math.round(performance.now() - startedAt)
    log.info(
      { run_id: claim.runId, thread_id: claim.threadId, attempt: claim.attempt, status, duration_ms },
      "run ended",
    )
    if (finished.watched_by.some((serverId) => serverId !== claimer.serverId)) publisher.startLogging()
    if (error !== null) publisher.publish("error", error)
    await publisher.end(status)
  }

  async #lose(execution: Execution, reason: "worker_died" | "claim_lost", detail: string): Promise<void> {
    const { db, log, streams, claimer } = this.#options
    const { claim, publisher } = execution
    log.warn({ run_id: claim.runId, attempt: claim.attempt, reason, detail }, "run lost its worker")
    if (reason === "worker_died" && claim.attempt >= maxAttempts) {
      return this.#finish(execution, failedResult(workerLost(claim.attempt, detail)))
    }
    publisher.detach()
    if (reason === "claim_lost") return
    const watchedBy = streams.hasSubscribers(claim.runId) ? claimer.serverId : undefined
    await releaseClaim(db, { claimId: claim.claimId, watchedBy })
    // Another server may execute the next attempt; this one's clients must hear of it.
    if (watchedBy) await streams.follow(claim.runId)
  }

  async #renew(): Promise<void> {
    const { db, log, claimer, workers } = this.#options
    const executions = [...this.#executions.values()]
    if (executions.length === 0) return
    try {
      const held = new Set(
        await renewLeases(
          db,
          claimer,
          executions.map(({ claim }) => claim.claimId),
        ),
      )
      for (const { claim } of executions) {
        if (!held.has(claim.runId) && this.#executions.has(claim.runId)) workers.cancel(claim.runId)
      }
    } catch (err) {
      log.warn({ err, runs: executions.length }, "leases could not be renewed")
    }
  }

  #cancel(runId: string): void {
    if (this.#executions.has(runId)) this.#options.workers.cancel(runId)
  }
}

/** Typed, so that an operator can tell a killed worker from a graph's own error (house style §4). */
const workerLost = (attempts: number, detail: string): RunFailure => ({
  error: "WorkerLost",
  message: `the worker process died in each of ${attempts} attempts, last with ${detail}`,
})

const failedResult = (error: RunFailure): RunResult => ({
  status: "error",
  error,
  next: [],
  values: undefined,
  interrupts: "{}",
})
