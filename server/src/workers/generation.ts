/** The workers that loaded the same version of a project's sources: a team for each language of its graphs. */
import type { ChildSetting, WorkerProject } from "./child.js"
import { byLanguage, type Language, languageOfWorker } from "./languages.js"
import type { GraphFailure, LoadReport } from "./port.js"
import type { ProjectCrashes } from "./project-crashes.js"
import { Team } from "./team.js"
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
  /** The maximum of workers for each language. */
  readonly maxWorkers: number
  readonly crashes: ProjectCrashes
  /** Whether the sources on disk are still this generation's. */
  mayRestart(): boolean
}

export class Generation {
  readonly number: number
  readonly project: WorkerProject
  readonly #teams: readonly Team[]

  constructor(options: GenerationOptions, { onServing, ...listener }: GenerationListener) {
    const { number, project, setting, crashes, mayRestart, maxWorkers } = options
    this.number = number
    this.project = project
    this.#teams = byLanguage(project).map((part, place) => {
      const startWorker = (index: number, team: Team): Worker => {
        const worker: Worker = new Worker({
          name: `${number}.${place * maxWorkers + index + 1}`,
          project: part,
          setting,
          crashes,
          mayRestart,
          ...listener,
          onServing: () => {
            team.serving(worker)
            onServing()
          },
          onOverload: () => team.overloaded(),
        })
        return worker
      }
      return new Team({ language: languageOfWorker(part), maxWorkers, mayStart: mayRestart, startWorker })
    })
  }

  get workers(): readonly Worker[] {
    return this.#teams.flatMap(({ workers }) => workers)
  }

  /** Waits until the first worker of each language has reported what it loaded, or has died while loading (G6). */
  async loaded(): Promise<LoadReport> {
    await Promise.all(this.#teams.map((team) => team.loaded()))
    return this.report()
  }

  /** A graph is loaded when one worker has loaded it; else the first reported failure is used. */
  report(): LoadReport {
    const graphs = new Set(this.#teams.flatMap((team) => team.graphs))
    const failed = new Map<string, GraphFailure>()
    for (const failure of this.#teams.flatMap((team) => team.failed)) {
      if (!graphs.has(failure.graphId) && !failed.has(failure.graphId)) failed.set(failure.graphId, failure)
    }
    const langgraph = this.#teams.flatMap((team) => (team.langgraph ? [team.langgraph] : []))
    return {
      graphs: [...graphs],
      failed: [...failed.values()],
      ...(langgraph.length > 0 && { langgraph: Object.assign({}, ...langgraph) }),
    }
  }

  get runsInFlight(): number {
    return this.workers.reduce((sum, worker) => sum + worker.runsInFlight, 0)
  }

  /** How many more runs of the language's graphs its workers take. */
  freeSlots(language: Language): number {
    return this.#teams.find((team) => team.language === language)?.freeSlots ?? 0
  }

  get isServing(): boolean {
    return this.workers.some((worker) => worker.session !== undefined)
  }

  /**
   * The least busy worker that has the graph; workers with room come first (P5, P19). Without a graph id, the least busy worker
   * of the language, or of any, JavaScript if the project uses it: calls that belong to no graph go to it.
   */
  leastBusy(graphId?: string, language?: Language): Worker | undefined {
    const serves = (worker: Worker) =>
      graphId === undefined
        ? worker.session !== undefined && (language ?? worker.language) === worker.language
        : worker.serves(graphId)
    const team = this.#teams.find(({ workers }) => workers.some(serves))
    let best: Worker | undefined
    for (const worker of team?.workers.filter(serves) ?? []) {
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
