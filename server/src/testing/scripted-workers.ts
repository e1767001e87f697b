/** Workers whose runs do what the test says: the port without a process, for tests of the queue and its streams. */
import { Unavailable } from "@superstep/toolkit/errors/errors"
import type { LoadReport, Reply, RunListener, RunOrder, RunResult, Workers } from "../workers/port.js"

export interface ScriptedRun {
  readonly order: RunOrder
  emit(event: string, data: unknown): void
  done(result?: Partial<RunResult>): void
  /** The worker dies. */
  die(): void
  readonly isCancelled: boolean
}

const success: RunResult = { status: "success", error: undefined, next: [], values: "{}", interrupts: "{}" }

export class ScriptedWorkers implements Workers {
  readonly slots: number
  readonly graphs: string[]
  /** Runs that were handed over, by run id, and in the order of their start. */
  readonly running = new Map<string, ScriptedRun>()
  readonly started: ScriptedRun[] = []
  readonly #listeners = new Map<string, RunListener>()
  readonly #cancelled = new Set<string>()
  #onFree: () => void = () => undefined

  constructor({ slots = 10, graphs = ["agent"] }: { slots?: number; graphs?: readonly string[] } = {}) {
    this.slots = slots
    this.graphs = [...graphs]
  }

  async start(): Promise<LoadReport> {
    return this.report()
  }
  report(): LoadReport {
    return { graphs: this.graphs, failed: [] }
  }
  freeSlots(): number {
    return this.slots - this.running.size
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
      done: (result) => this.#conclude(runId, () => listener.onDone({ ...success, ...result })),
      die: () => this.#conclude(runId, () => listener.onLost("worker_died", "signal SIGKILL")),
      get isCancelled() {
        return cancelled.has(runId)
      },
    }
    this.#listeners.set(runId, listener)
    this.running.set(runId, run)
    this.started.push(run)
  }

  cancel(runId: string): void {
    if (!this.running.has(runId)) return
    this.#cancelled.add(runId)
    this.running.get(runId)?.done({ status: "cancelled", next: ["node"] })
  }

  async call(): Promise<Reply> {
    throw new Unavailable("scripted workers answer no calls")
  }
  async stop(): Promise<void> {
    for (const runId of [...this.running.keys()]) {
      this.#conclude(runId, () => this.#listeners.get(runId)?.onLost("stopped", "the workers were told to stop"))
    }
  }

  #conclude(runId: string, tell: () => void): void {
    if (!this.running.delete(runId)) return
    tell()
    this.#onFree()
  }
}
