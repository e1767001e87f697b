/**
 * The workers of one simulated server: one process that shared runs execute in, and one for each run that executes alone. What a run does there
 * is its temper, which its input names, and the seed.
 */
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import type { Life } from "@superstep/toolkit/testing/simulation/life"
import { type Clock, pauseFor } from "@superstep/toolkit/time/clock"
import type { Journal } from "../../../checkpoints/journal.js"
import { checkpoint } from "../../../checkpoints/testing/claimed-runs.js"
import { ClaimLost } from "../../../workers/fence.js"
import type { LostReason, RunListener, RunOrder, RunResult, Workers } from "../../../workers/port.js"

/**
 * What a run does: `usual` ends after some steps; `hanging` never ends, and stops when it is asked to, and so does `waiting`, which goes on to
 * save checkpoints; `deaf` does not even stop; each attempt of `deadly` kills its worker, and of `fatal` its server. Once nothing is disturbed any more, all but `deadly` and `waiting` are usual ones.
 */
export const tempers = ["usual", "hanging", "deaf", "deadly", "fatal", "waiting"] as const
export type Temper = (typeof tempers)[number]

/** One claim in the workers of a server. */
export interface Execution {
  readonly runId: string
  readonly claimId: string
  readonly serverId: string
  readonly fromMs: number
  /** When its worker had no more to do with it; undefined while it executes, or when its server was killed. */
  toMs?: number
  /** What the server heard of its end. */
  end?: RunResult["status"] | LostReason | "given_up"
}

interface Options {
  readonly life: Life
  readonly clock: Clock
  readonly now: () => number
  readonly random: Random
  readonly journal: Journal
  readonly serverId: string
  readonly slots: number
  readonly uuid: () => string
  readonly isCalm: () => boolean
  readonly onExecution: (execution: Execution) => void
  /** Kills the server. */
  readonly kill: () => void
}

interface Executing {
  readonly order: RunOrder
  readonly listener: RunListener
  readonly execution: Execution
  readonly temper: Temper
}

export class SimulatedWorkers implements Workers {
  deaths = 0
  readonly #options: Options
  readonly #executing = new Map<string, Executing>()
  #onFree: () => void = () => undefined

  constructor(options: Options) {
    this.#options = options
  }

  async start() {
    return this.report()
  }
  report() {
    return { graphs: ["agent"], failed: [] }
  }
  freeSlots(): number {
    return Math.max(0, this.#options.slots - this.#shared().length)
  }
  slotsByLanguage() {
    return [{ free: this.freeSlots(), otherGraphs: [] }]
  }
  fullWorkers() {
    return { jobs: 0, event_loop: 0, memory: 0 }
  }
  freeSoloSlots(): number {
    const alone = this.#executing.size - this.#shared().length
    return this.#options.slots === 0 ? 0 : Math.max(0, 2 - alone)
  }
  onFree(callback: () => void): void {
    this.#onFree = callback
  }

  execute(order: RunOrder, listener: RunListener): void {
    const { serverId, now, isCalm, onExecution } = this.#options
    const { runId, claimId } = order
    const execution: Execution = { runId, claimId, serverId, fromMs: now() }
    const { temper } = JSON.parse(order.input) as { temper: Temper }
    const isKept = !isCalm() || temper === "deadly" || temper === "waiting"
    const executing = { order, listener, execution, temper: isKept ? temper : "usual" }
    onExecution(execution)
    this.#executing.set(claimId, executing)
    void this.#live(executing)
  }

  cancel(claimId: string): void {
    const executing = this.#executing.get(claimId)
    if (!executing || executing.temper === "deaf") return
    const { clock, random } = this.#options
    clock.after(random.between(1, 300), () => this.#done(executing, "cancelled"))
  }

  giveUp(claimId: string): void {
    const executing = this.#executing.get(claimId)
    if (executing) this.#conclude(executing, "given_up", () => undefined)
  }

  async call(): Promise<never> {
    throw new Error("simulated workers answer no calls")
  }

  async stop(): Promise<void> {
    for (const executing of [...this.#executing.values()]) this.#lose(executing, "stopped")
  }

  /** The shared process dies, with all that it executes. */
  die(): void {
    const runs = this.#shared()
    const [only] = runs
    if (only && runs.length === 1) this.#dieAlone(only)
    else for (const run of runs) this.#lose(run, "shared_worker_died")
  }

  #shared(): Executing[] {
    return [...this.#executing.values()].filter(({ order }) => !order.runsAlone)
  }

  #dieAlone(run: Executing): void {
    this.#lose(run, this.#options.random.below(5) === 0 ? "worker_blocked" : "worker_died")
  }

  async #live(executing: Executing): Promise<void> {
    const { clock, random, kill } = this.#options
    const { order, temper } = executing
    const longestMs = random.pick([20, 500, 6000, 20_000])
    for (let step = random.below(4); step >= 0; step--) {
      await pauseFor(clock, random.between(1, longestMs))
      if (!this.#has(executing) || !(await this.#save(executing, step))) return
    }
    while (temper === "waiting") {
      await pauseFor(clock, random.between(500, 2000))
      if (!this.#has(executing) || !(await this.#save(executing, 0))) return
    }
    if (temper === "usual") this.#done(executing, random.pick(ends))
    if (temper === "deadly") order.runsAlone ? this.#dieAlone(executing) : this.die()
    if (temper === "fatal") kill()
  }

  /** @returns whether the run goes on */
  async #save(executing: Executing, step: number): Promise<boolean> {
    const { runId, claimId, threadId } = executing.order
    const { journal, uuid } = this.#options
    void executing.listener.onEvent("values", Buffer.from("{}"))
    try {
      const metadata = JSON.stringify({ source: "loop", step, claim: claimId })
      await journal.of({ runId, claimId }).putCheckpoint(checkpoint({ threadId }, uuid(), { metadata, blobs: [] }))
    } catch (error) {
      if (error instanceof ClaimLost) this.#lose(executing, "claim_lost")
      else this.#done(executing, "error")
    }
    return this.#has(executing)
  }

  #has(executing: Executing): boolean {
    return this.#executing.get(executing.order.claimId) === executing
  }

  #done(executing: Executing, status: RunResult["status"]): void {
    const result: RunResult = {
      status,
      error: status === "error" ? { error: "Error", message: "of the graph" } : undefined,
      next: status === "success" ? [] : ["node"],
      values: JSON.stringify({ claim: executing.order.claimId }),
      interrupts: status === "interrupted" ? '{"task":[{"value":"?"}]}' : "{}",
    }
    this.#conclude(executing, status, () => executing.listener.onDone(result))
  }

  #lose(executing: Executing, reason: LostReason): void {
    if (reason !== "stopped" && reason !== "claim_lost") this.deaths++
    this.#conclude(executing, reason, () => executing.listener.onLost(reason, "a simulated death"))
  }

  #conclude(executing: Executing, end: NonNullable<Execution["end"]>, tell: () => void): void {
    const { life, now } = this.#options
    if (life.isOver || !this.#has(executing)) return
    this.#executing.delete(executing.order.claimId)
    executing.execution.toMs = now()
    executing.execution.end = end
    tell()
    this.#onFree()
  }
}

const ends = ["success", "success", "success", "success", "error", "interrupted"] as const
