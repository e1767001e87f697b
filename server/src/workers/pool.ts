/**
 * The worker processes of a server. It owns their socket, the generations and the routes from graphs to generations;
 * the rules (P1 …, G1 …) and the state diagrams are in this folder's README. `stop` ends everything it started.
 */
import { fileURLToPath } from "node:url"
import type { Loopback } from "@superstep/protocol/worker/frames"
import { Conflict, Unavailable } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import type { CallHandlers } from "./calls.js"
import type { ChildSetting, Limits, WorkerProject } from "./child.js"
import { runFailure } from "./error-codes.js"
import { Generation } from "./generation.js"
import { HeldOrders } from "./held-orders.js"
import { type LanguageSlots, slotsForAnyGraph, slotsWithout } from "./language-slots.js"
import { languageOf, languageOfEmbedding } from "./languages.js"
import type { LoadReport, PayloadLine, Reply, RunFailure, RunListener, RunOrder, Workers } from "./port.js"
import { processTitle } from "./process-title.js"
import type { ProjectCrashes } from "./project-crashes.js"
import { routesAfter, routesWithout, slotsOfRoutes } from "./routes.js"
import { SoloWorkers } from "./solo-workers.js"
import type { Worker } from "./worker.js"
import type { RoomLimit } from "./worker-room.js"
import { openWorkerSocket, type WorkerSocket } from "./worker-socket.js"

export interface WorkerPool extends Workers {
  /**
   * Loads a changed project while the old workers still serve, then gives new runs to it (G1, G2). Calls run one after the other.
   * @returns what the new generation loaded and what failed; an older generation may still serve a graph in `failed`
   */
  replaceWorkers(project: WorkerProject): Promise<LoadReport>
}

export interface WorkerPoolOptions {
  /** The server's name, for the titles of processes. */
  readonly name?: string
  readonly project: WorkerProject
  /** The maximum of processes for each language of the graphs. */
  readonly workers: number
  /** Answers the workers' calls. */
  readonly handlers: CallHandlers
  /** A promise to wait for before more calls are accepted; undefined while there is room. */
  readonly backlog?: () => Promise<void> | undefined
  /** This process's environment, of which a worker gets only PATH, HOME and the like. */
  readonly serverEnv: NodeJS.ProcessEnv
  readonly log: Log
  /** File of the JavaScript worker; by default that of `@superstep/worker-js`. */
  readonly main?: string
  /** The Python program for projects without a `.venv`; by default `python3`. */
  readonly python?: string
  readonly limits?: Partial<Limits>
  /** Counts the crashes that the project caused. */
  readonly crashes: ProjectCrashes
  /** How user code reaches this server. */
  readonly loopback?: Loopback
}

export const defaultLimits: Limits = {
  maxRuns: 1000,
  // A graph may load models or wait for a database when it is imported.
  loadMs: 120_000,
  pingEveryMs: 5_000,
  // Long computation is not a crash; this limit only ends a worker that would block its other runs forever. A person waits for it.
  stalledMs: 30_000,
  memoryMb: 2048,
  // A check costs 0.01 ms; a graph that allocates as fast as it can exceeds its limit for at most a second.
  memoryEveryMs: 1_000,
  stopMs: 2_000,
  // Reading a state takes milliseconds; a client has left long before a worker with a blocked event loop is killed.
  callMs: 30_000,
  // The longest pause before a worker is started again (P4).
  holdMs: 10_000,
  // Ten reports: a graph that computes for a moment, or imports modules in its first run, does not need another process.
  overloadMs: 1_000,
  // A run that kills its worker again usually does so at the same point, which is soon after its last checkpoint.
  provenMs: 5_000,
}

// At least two, so that one long run does not delay the others that wait for their own process. There is no setting for it:
// few runs were in a worker that died, and each such process needs a worker's memory.
const minSolos = 2

// A super-step is a call of a model or a tool, and most are over by then. The process that stops the server waits for
// `handBackSeconds` (control/src/runtimes) in addition to the grace time, so this must not be longer.
const maxDrainMs = 10_000

/** The program of the JavaScript worker. */
export const workerMain = (): string => fileURLToPath(import.meta.resolve("@superstep/worker-js/main"))

// npm cannot resolve Python packages, so the Python worker is found by its path relative to the JavaScript worker. The
// published package keeps that path (scripts/releases/stage-package.mjs).
export const pythonMain = fileURLToPath(
  new URL("../../python/main.py", import.meta.resolve("@superstep/worker-js/main")),
)

export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  return new Pool(options)
}

class Pool implements WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #limits: Limits
  readonly #held: HeldOrders
  readonly #solos: SoloWorkers
  #socket: WorkerSocket | undefined
  #generations: Generation[] = []
  /** The last generation that has reported. */
  #newest: Generation | undefined
  #routes = new Map<string, Generation>()
  #onFree: () => void = () => undefined
  #onIdle: () => void = () => undefined
  #replacing: Promise<unknown> = Promise.resolve()
  /** Pending ends of generations that are not needed any more. */
  readonly #ending = new Set<Promise<void>>()
  #isStopping = false
  deaths = 0

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#held = new HeldOrders(this.#limits.holdMs)
    const limit = Math.max(minSolos, options.workers)
    const { provenMs } = this.#limits
    this.#solos = new SoloWorkers({ limit, provenMs, onFree: () => this.#soloLeft() })
  }

  async start(): Promise<LoadReport> {
    this.#socket = await openWorkerSocket(this.#options.log)
    return this.replaceWorkers(this.#options.project)
  }

  replaceWorkers(project: WorkerProject): Promise<LoadReport> {
    const turn = this.#replacing.then(() => this.#replace(project))
    // The caller gets the error of its own reload; the next reload starts anyway.
    this.#replacing = turn.catch(() => undefined)
    return turn
  }

  report(): LoadReport {
    const { failed = [], langgraph } = this.#newest?.report() ?? {}
    return {
      graphs: [...this.#routes.keys()],
      languages: new Map([...this.#routes].map(([id, { project }]) => [id, languageOf(project.graphs[id] ?? "")])),
      failed: failed.filter(({ graphId }) => !this.#routes.has(graphId)),
      ...(langgraph && { langgraph }),
    }
  }

  freeSlots(): number {
    return slotsForAnyGraph(this.slotsByLanguage())
  }

  slotsByLanguage(): readonly LanguageSlots[] {
    return this.#isStopping ? [] : slotsWithout(slotsOfRoutes(this.#routes), this.#held.graphIds)
  }

  /** How many serving processes take no more runs, by reason. */
  fullWorkers(): Readonly<Record<RoomLimit, number>> {
    const full = { jobs: 0, event_loop: 0, memory: 0 }
    for (const { room } of this.#workers()) if (room.limit) full[room.limit] += 1
    return full
  }

  freeSoloSlots(): number {
    const isServing = [...this.#routes.values()].some((generation) => generation.isServing)
    return this.#isStopping || !isServing ? 0 : this.#solos.free
  }

  onFree(callback: () => void): void {
    this.#onFree = callback
  }

  execute(order: RunOrder, listener: RunListener): void {
    // Reported in a later tick, so that the callback is never called inside `execute`.
    if (this.#isStopping) setImmediate(() => listener.onLost("stopped", "the server stops"))
    else if (!this.#place(order, listener)) this.#held.hold(order, listener)
  }

  cancel(claimId: string): void {
    this.#held.cancel(claimId)
    this.#solos.cancel(claimId)
    for (const worker of this.#workers()) worker.session?.cancel(claimId)
  }

  giveUp(claimId: string): void {
    this.#solos.giveUp(claimId)
    for (const worker of this.#workers()) worker.giveUp(claimId)
  }

  async call(
    method: string,
    fields: Readonly<Record<string, unknown>>,
    payload: Readonly<Record<string, string>>,
    lines: readonly PayloadLine[] = [],
  ): Promise<Reply> {
    const graphId = typeof fields.graph_id === "string" ? fields.graph_id : undefined
    const generation = graphId === undefined ? this.#newest : this.#routes.get(graphId)
    const language = typeof fields.embed === "string" ? languageOfEmbedding(fields.embed) : undefined
    const session = generation?.leastBusy(graphId, language)?.session
    if (session) return session.call(method, fields, payload, lines)
    const refusal = graphId === undefined ? undefined : this.#refusalOf(graphId)
    if (refusal) throw new Conflict(refusal.message, "graph_unavailable")
    throw new Unavailable("no worker is up that could answer")
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#held.stop()
    this.#solos.handBack()
    await this.#untilIdle(graceMs)
    await this.#drain(Math.min(graceMs, maxDrainMs))
    const stops = this.#generations.map((generation) => generation.stop())
    await Promise.all([...this.#ending, ...stops, this.#solos.stop()])
    await this.#replacing
    // The routes stay, so that a request during the stop is queued and does not get a 404.
    this.#generations = []
    await this.#socket?.close()
  }

  async #replace(project: WorkerProject): Promise<LoadReport> {
    if (this.#isStopping || !this.#socket) throw new Unavailable("the workers are not running")
    const next = this.#begin(project, this.#socket)
    await next.loaded()
    this.#newest = next
    this.#route(next)
    this.#retire()
    this.#offer()
    return next.report()
  }

  #begin(project: WorkerProject, socket: WorkerSocket): Generation {
    const { workers, crashes } = this.#options
    const setting = this.#settingOf(socket)
    const number = (this.#generations.at(-1)?.number ?? 0) + 1
    const generation: Generation = new Generation(
      {
        number,
        project,
        setting,
        maxWorkers: workers,
        crashes,
        mayRestart: () => !this.#isStopping && this.#generations.at(-1) === generation,
      },
      {
        onServing: () => this.#serving(generation),
        onRunLeft: () => this.#runLeft(),
        onRoom: () => this.#offer(),
        onDied: () => this.#died(generation),
      },
    )
    this.#generations.push(generation)
    return generation
  }

  #settingOf(socket: WorkerSocket): ChildSetting {
    const { handlers, backlog = () => undefined, log, serverEnv, python = "python3", loopback } = this.#options
    const mains = { javascript: this.#options.main ?? workerMain(), python: pythonMain }
    const title = processTitle(this.#options.name, "worker")
    return { socket, title, handlers, backlog, log, serverEnv, mains, python, limits: this.#limits, loopback }
  }

  #workers(): readonly Worker[] {
    return this.#generations.flatMap((generation) => generation.workers)
  }

  #route(generation: Generation): void {
    const wanted = Object.keys(generation.project.graphs)
    this.#routes = routesAfter(this.#routes, generation, { wanted, loaded: generation.report().graphs })
  }

  /** Called when a process serves again, perhaps with a graph that failed to load before. Only the reported generation is routed. */
  #serving(generation: Generation): void {
    if (generation !== this.#newest) return
    this.#route(generation)
    this.#offer()
  }

  /** Called when slots became free: runs that are held here go first. */
  #offer(): void {
    this.#held.retry((order, listener) => this.#place(order, listener))
    this.#onFree()
  }

  #died(generation: Generation): void {
    this.deaths += 1
    if (generation === this.#generations.at(-1) || generation.isServing) return
    this.#routes = routesWithout(this.#routes, generation)
    this.#retire()
  }

  #runLeft(): void {
    this.#onFree()
    this.#retire()
    if (this.#isIdle()) this.#onIdle()
  }

  #soloLeft(): void {
    this.#offer()
    if (this.#isIdle()) this.#onIdle()
  }

  #isIdle(): boolean {
    return this.#solos.size === 0 && this.#generations.every((generation) => generation.runsInFlight === 0)
  }

  /** Ends generations without a route as soon as their runs have ended (G3). */
  #retire(): void {
    if (this.#isStopping) return
    const needed = new Set([...this.#routes.values(), this.#newest, this.#generations.at(-1)])
    for (const generation of this.#generations) {
      if (needed.has(generation) || generation.runsInFlight > 0) continue
      this.#generations = this.#generations.filter((other) => other !== generation)
      const ending = generation.stop().finally(() => this.#ending.delete(ending))
      this.#ending.add(ending)
    }
  }

  /** @returns false when no running worker has the graph, which may be temporary */
  #place(order: RunOrder, listener: RunListener): boolean {
    const generation = this.#routes.get(order.graphId)
    if (order.runsAlone && generation) return this.#placeAlone(order, listener, generation)
    const session = generation?.leastBusy(order.graphId)?.session
    if (session) session.execute(order, listener)
    const error = session ? undefined : this.#refusalOf(order.graphId)
    const failed = { status: "error", error, next: [], values: undefined, interrupts: "{}" } as const
    if (error) setImmediate(() => listener.onDone(failed))
    return session !== undefined || error !== undefined
  }

  #placeAlone(order: RunOrder, listener: RunListener, { project }: Generation): boolean {
    if (!this.#socket || this.#solos.free === 0) return false
    this.#solos.execute(order, listener, project, this.#settingOf(this.#socket))
    return true
  }

  /** Why no worker can execute a graph; undefined when that may be temporary. */
  #refusalOf(graphId: string): RunFailure | undefined {
    if (this.#routes.has(graphId) || !this.#newest) return undefined
    // A generation that is still loading may have the graph.
    const isKnown = [this.#newest, this.#generations.at(-1)].some((it) =>
      Object.hasOwn(it?.project.graphs ?? {}, graphId),
    )
    if (!isKnown) return runFailure("GraphNotFound", `the project has no graph "${graphId}": add it to langgraph.json`)
    const failure = this.#newest.isServing && this.report().failed.find((failed) => failed.graphId === graphId)
    return failure ? runFailure("GraphLoadError", failure.message) : undefined
  }

  /** Hands runs back between two super-steps, so that no super-step is repeated. */
  async #drain(ms: number): Promise<void> {
    // Without grace time the server must end at once.
    if (ms === 0 || this.#isIdle()) return
    for (const generation of this.#generations) generation.drain()
    this.#solos.drain()
    await this.#untilIdle(ms)
  }

  async #untilIdle(graceMs: number): Promise<void> {
    if (this.#isIdle()) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, graceMs)
      this.#onIdle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
