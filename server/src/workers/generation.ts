/** The workers that loaded a project's sources at one time: equal ones for each language that its graphs need. */
import type { ChildSetting, WorkerProject } from "./child.js"
import { byLanguage } from "./languages.js"
import type { GraphFailure, LoadReport } from "./port.js"
import type { ProjectCrashes } from "./project-crashes.js"
import { Worker } from "./worker.js"

export interface GenerationListener {
  onServing(): void
  onRunLeft(): void
  onRoom(): void
  onDied(): void
}

export interface GenerationOptions {
  readonly number: number
  readonly project: WorkerProject
  readonly setting: ChildSetting
  /** How many for each language. */
  readonly workers: number
  readonly crashes: ProjectCrashes
  /** Whether the sources on disk are still this generation's. */
  mayRestart(): boolean
}

export class Generation {
  readonly number: number
  readonly project: WorkerProject
  readonly workers: readonly Worker[]
  /** Those of one language each: they take each other's runs. The first of a team loads before the others (G6). */
  readonly #teams: readonly (readonly Worker[])[]

  constructor(options: GenerationOptions, listener: GenerationListener) {
    const { number, project, setting, crashes, mayRestart } = options
    this.number = number
    this.project = project
    this.#teams = byLanguage(project).map((part, team) => {
      const worker = (index: number, after?: Promise<void>) => {
        const name = `${number}.${team * options.workers + index + 1}`
        return new Worker({ name, project: part, setting, after, crashes, mayRestart, ...listener })
      }
      const first = worker(0)
      return [first, ...Array.from({ length: options.workers - 1 }, (_, index) => worker(index + 1, first.firstReport))]
    })
    this.workers = this.#teams.flat()
  }

  /** Waits until the first worker of each language has told what it could load, or has died over it (G6). */
  async loaded(): Promise<LoadReport> {
    await Promise.all(this.#teams.map(([first]) => first?.firstReport))
    return this.report()
  }

  /** A graph is loaded when one worker has it; else the first reason that a worker gave counts. */
  report(): LoadReport {
    const graphs = new Set(this.workers.flatMap((worker) => worker.report.graphs))
    const failed = new Map<string, GraphFailure>()
    for (const failure of this.workers.flatMap((worker) => worker.report.failed)) {
      if (!graphs.has(failure.graphId) && !failed.has(failure.graphId)) failed.set(failure.graphId, failure)
    }
    const told = this.workers.flatMap(({ report: { langgraph } }) => (langgraph ? [langgraph] : []))
    return {
      graphs: [...graphs],
      failed: [...failed.values()],
      ...(told.length > 0 && { langgraph: Object.assign({}, ...told) }),
    }
  }

  get runsInFlight(): number {
    return this.workers.reduce((sum, worker) => sum + worker.runsInFlight, 0)
  }

  /** Which language the next run needs is not known before it is claimed, so the fullest one decides. */
  get freeSlots(): number {
    const slots = this.#teams
      .filter((team) => team.some(({ report }) => report.graphs.length > 0))
      .map((team) => team.reduce((sum, worker) => sum + worker.room.free, 0))
    return slots.length === 0 ? 0 : Math.min(...slots)
  }

  get isServing(): boolean {
    return this.workers.some((worker) => worker.session !== undefined)
  }

  /**
   * The least busy worker; one that has room comes first (P5, P19). Of those that have the graph; when none is named, of those
   * of one language, JavaScript where there are such: what belongs to no graph is asked of it.
   */
  leastBusy(graphId?: string): Worker | undefined {
    const serves = (worker: Worker) => (graphId === undefined ? worker.session !== undefined : worker.serves(graphId))
    const team = this.#teams.find((workers) => workers.some(serves)) ?? []
    let best: Worker | undefined
    for (const worker of team.filter(serves)) {
      if (best === undefined || goesBefore(worker, best)) best = worker
    }
    return best
  }

  /** Asks every run to stop after its super-step. */
  drain(): void {
    for (const worker of this.workers) worker.session?.drain()
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()))
  }
}

const goesBefore = (worker: Worker, other: Worker): boolean => {
  const hasRoom = worker.room.free > 0
  return hasRoom === other.room.free > 0 ? worker.runsInFlight < other.runsInFlight : hasRoom
}
