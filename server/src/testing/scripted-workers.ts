/** An implementation of the worker port whose runs are controlled by the test, without a process. */
import type { Span } from "@superstep/protocol/worker/frames"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { LoadReport, Reply, RunListener, RunOrder, RunResult, Workers } from "../workers/port.js"

export interface ScriptedRun {
  readonly order: RunOrder
  /** @returns what a worker must await before it sends more events of the run */
  emit(event: string, data: unknown): Promise<void> | undefined
  /** Sends a part of the run's trace. */
  emitSpans(spans: readonly Span[], contents?: readonly unknown[]): void
  done(result?: Partial<RunResult>): void
  /** The worker dies. Other runs were in it unless `isAlone`. */
  die(isAlone?: boolean): void
  /** The worker is killed because this run alone blocked its event loop. */
  block(): void
  readonly isCancelled: boolean
}

const success: RunResult = { status: "success", error: undefined, next: [], values: "{}", interrupts: "{}" }

export class ScriptedWorkers implements Workers {
  readonly deaths = 0
  readonly slots: number
  /** Slots for runs that execute alone in a worker. */
  soloSlots: number
  /** Whether runs continue after they are cancelled. */
  ignoresCancel = false
  /** Answers calls. Without it they fail. */
  answer: ((method: string, fields: Readonly<Record<string, unknown>>) => Promise<Reply>) | undefined
  /** Ids of abandoned claims. */
  readonly givenUp: string[] = []
  readonly graphs: string[]
  /** Runs that are executing, by run id. */
  readonly running = new Map<string, ScriptedRun>()
  /** All runs in the order of their start. */
  readonly started: ScriptedRun[] = []
  readonly #listeners = new Map<string, RunListener>()
  readonly #cancelled = new Set<string>()
  #onFree: () => void = () => undefined

  constructor({ slots = 10, graphs = ["agent"] }: { slots?: number; graphs?: readonly string[] } = {}) {
    this.slots = slots
    this.soloSlots = slots === 0 ? 0 : 2
    this.graphs = [...graphs]
  }

  async start(): Promise<LoadReport> {
    return this.report()
  }
  report(): LoadReport {
    return { graphs: this.graphs, failed: [] }
  }
  freeSlots(): number {
    return this.slots - [...this.running.values()].filter(({ order }) => !order.runsAlone).length
  }
  slotsByLanguage() {
    return [{ free: this.freeSlots(), otherGraphs: [] }]
  }
  fullWorkers() {
    return { jobs: this.freeSlots() > 0 ? 0 : 1, event_loop: 0, memory: 0 }
  }
  freeSoloSlots(): number {
    return this.soloSlots - [...this.running.values()].filter(({ order }) => order.runsAlone).length
  }
  onFree(callback: () => void): void {
    this.#onFree = callback
  }

  execute(order: RunOrder, listener: RunListener): void {
    const { runId } = order
    const cancelled = this.#cancelled
    const run: ScriptedRun = {
      order,
      emit: (event, data) => listener.onEvent(event, Buffer.from(JSON.stringify(data))),
      emitSpans: (spans, contents = []) =>
        listener.onSpans({
          spans,
          contents: spans.map((_, n) => Buffer.from(n in contents ? JSON.stringify(contents[n]) : "")),
        }),
      done: (result) => this.#conclude(runId, () => listener.onDone({ ...success, ...result })),
      die: (isAlone = true) => {
        const reason = isAlone ? "worker_died" : "shared_worker_died"
        this.#conclude(runId, () => listener.onLost(reason, "signal SIGKILL"))
      },
      block: () => this.#conclude(runId, () => listener.onLost("worker_blocked", "signal SIGKILL")),
      get isCancelled() {
        return cancelled.has(runId)
      },
    }
    this.#listeners.set(runId, listener)
    this.running.set(runId, run)
    this.started.push(run)
  }

  cancel(claimId: string): void {
    const run = this.#runOf(claimId)
    if (!run) return
    this.#cancelled.add(run.order.runId)
    if (!this.ignoresCancel) run.done({ status: "cancelled", next: ["node"] })
  }
  giveUp(claimId: string): void {
    const run = this.#runOf(claimId)
    if (run) this.#conclude(run.order.runId, () => this.givenUp.push(claimId))
  }

  async call(method: string, fields: Readonly<Record<string, unknown>>): Promise<Reply> {
    if (!this.answer) throw new Unavailable("scripted workers answer no calls")
    return this.answer(method, fields)
  }
  async stop(): Promise<void> {
    for (const runId of [...this.running.keys()]) {
      this.#conclude(runId, () => this.#listeners.get(runId)?.onLost("stopped", "the workers were stopped"))
    }
  }

  #runOf(claimId: string): ScriptedRun | undefined {
    return [...this.running.values()].find(({ order }) => order.claimId === claimId)
  }

  #conclude(runId: string, tell: () => void): void {
    if (!this.running.delete(runId)) return
    tell()
    this.#onFree()
  }
}
