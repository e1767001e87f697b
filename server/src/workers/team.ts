/**
 * The workers of one generation that load the graphs of one language. Each can execute every run of the team. A team starts with
 * one worker; the next one starts when the load requires it (P20).
 */
import type { Language } from "./languages.js"
import type { GraphFailure, LoadReport } from "./port.js"
import type { Worker } from "./worker.js"

export interface TeamOptions {
  readonly language: Language
  readonly maxWorkers: number
  /** Whether the sources on disk are still this team's. */
  mayStart(): boolean
  /** @param index  the worker's index in its team, from 0 */
  startWorker(index: number, team: Team): Worker
}

export class Team {
  readonly #options: TeamOptions
  readonly #workers: Worker[]

  constructor(options: TeamOptions) {
    this.#options = options
    this.#workers = [options.startWorker(0, this)]
  }

  get language(): Language {
    return this.#options.language
  }

  get workers(): readonly Worker[] {
    return this.#workers
  }

  /** Resolves when the first worker has reported what it loaded, or has died while loading (G6). */
  async loaded(): Promise<void> {
    await this.#workers[0]?.firstReport
  }

  get graphs(): readonly string[] {
    return this.#workers.flatMap(({ report }) => report.graphs)
  }

  get failed(): readonly GraphFailure[] {
    return this.#workers.flatMap(({ report }) => report.failed)
  }

  get langgraph(): LoadReport["langgraph"] {
    return this.#workers.find(({ report }) => report.langgraph)?.report.langgraph
  }

  get freeSlots(): number {
    return this.#workers.reduce((sum, worker) => sum + worker.room.free, 0)
  }

  /** Starts another worker when all existing ones are overloaded; a worker that is still loading is not. */
  overloaded(): void {
    if (this.#workers.every(({ isOverloaded }) => isOverloaded)) this.#startNext()
  }

  /** Called when a process serves. If one has died before, a second worker starts, so that one still serves after the next death. */
  serving(worker: Worker): void {
    if (worker.isReplaced && this.#workers.length === 1) this.#startNext()
  }

  #startNext(): void {
    const { maxWorkers, mayStart, startWorker } = this.#options
    if (this.#workers.length < maxWorkers && mayStart()) this.#workers.push(startWorker(this.#workers.length, this))
  }
}
