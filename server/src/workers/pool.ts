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
import { Generation } from "./generation.js"
import { HeldOrders } from "./held-orders.js"
import type { LoadReport, Reply, RunFailure, RunListener, RunOrder, Workers } from "./port.js"
import type { ProjectCrashes } from "./project-crashes.js"
import { routesAfter, routesWithout } from "./routes.js"
import { SoloWorkers } from "./solo-workers.js"
import type { Worker } from "./worker.js"
import type { RoomLimit } from "./worker-room.js"
import { openWorkerSocket, type WorkerSocket } from "./worker-socket.js"

export interface WorkerPool extends Workers {
  /**
   * Loads a changed project beside what serves, then gives new runs to it (G1, G2). Calls take turns.
   * @returns what the new generation loaded and what it could not; a graph in `failed` may be served by an older one
   */
  replaceWorkers(project: WorkerProject): Promise<LoadReport>
}

export interface WorkerPoolOptions {
  readonly project: WorkerProject
  /** How many processes for each language that the graphs need. */
  readonly workers: number
  /** Answers the workers' calls. */
  readonly handlers: CallHandlers
  /** What to wait for before more calls are taken; undefined while there is room. */
  readonly backlog?: () => Promise<void> | undefined
  /** This process's environment, of which a worker gets only PATH, HOME and the like. */
  readonly serverEnv: NodeJS.ProcessEnv
  readonly log: Log
  /** File of the JavaScript worker; that of `@superstep/worker-js` unless told. */
  readonly main?: string
  /** The program of Python graphs, where a project has no `.venv`; `python3` unless told. */
  readonly python?: string
  readonly limits?: Partial<Limits>
  /** Hears of the crashes that count against the project. */
  readonly crashes: ProjectCrashes
  /** How user code reaches this server. */
  readonly loopback?: Loopback
}

export const usualLimits: Limits = {
  mostRuns: 1000,
  // A graph may load models or wait for a database when it is imported.
  loadMs: 120_000,
  pingEveryMs: 5_000,
  // Honest work of the processor is no crash; this only ends what would hold a worker's other runs for ever.
  stalledMs: 120_000,
  memoryMb: 2048,
  // A look costs 0.01 ms; a graph that takes memory as fast as it can passes its limit by a second's worth.
  memoryEveryMs: 1_000,
  stopMs: 2_000,
  // A state is read in milliseconds; whoever asked has left long before a loop that stands still is ended.
  callMs: 30_000,
  // The longest pause before a worker is started again (P4).
  holdMs: 10_000,
  // What kills its worker again does so at the same point, as a rule, and that is soon after its last checkpoint.
  provenMs: 5_000,
}

// Two at least, so that one run which lasts does not hold up the others that wait for a process of their own. Setting-free:
// runs that were in a worker when it died are few, and each such process needs a worker's memory.
const leastSolos = 2

// A super-step is an answer of a model or of a tool: most are over by then. Whoever told the server to stop waits for this
// on top of the grace time (`handBackSeconds` of control/src/runtimes), so it is no more than that.
const mostDrainMs = 10_000

/** The program of the JavaScript worker. */
export const workerMain = (): string => fileURLToPath(import.meta.resolve("@superstep/worker-js/main"))

// Python's packages are no business of npm's, so the worker is found by its place in the repository, which the published
// package keeps (scripts/stage-package.mjs).
export const pythonMain = fileURLToPath(new URL("../../../workers/python/main.py", import.meta.url))

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
  /** The last one that has reported. */
  #newest: Generation | undefined
  #routes = new Map<string, Generation>()
  #onFree: () => void = () => undefined
  #onIdle: () => void = () => undefined
  #replacing: Promise<unknown> = Promise.resolve()
  /** Of generations that are not needed any more. */
  readonly #ending = new Set<Promise<void>>()
  #isStopping = false
  deaths = 0

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#limits = { ...usualLimits, ...options.limits }
    this.#held = new HeldOrders(this.#limits.holdMs)
    const limit = Math.max(leastSolos, options.workers)
    const { provenMs } = this.#limits
    this.#solos = new SoloWorkers({ limit, provenMs, onFree: () => this.#soloLeft() })
  }

  async start(): Promise<LoadReport> {
    this.#socket = await openWorkerSocket(this.#options.log)
    return this.replaceWorkers(this.#options.project)
  }

  replaceWorkers(project: WorkerProject): Promise<LoadReport> {
    const turn = this.#replacing.then(() => this.#replace(project))
    // A failed turn is told to who asked for it; the next one begins all the same.
    this.#replacing = turn.catch(() => undefined)
    return turn
  }

  report(): LoadReport {
    const { failed = [], langgraph } = this.#newest?.report() ?? {}
    return {
      graphs: [...this.#routes.keys()],
      failed: failed.filter(({ graphId }) => !this.#routes.has(graphId)),
      ...(langgraph && { langgraph }),
    }
  }

  freeSlots(): number {
    if (this.#isStopping) return 0
    const free = [...new Set(this.#routes.values())].reduce((sum, generation) => sum + generation.freeSlots, 0)
    return Math.max(0, free - this.#held.size)
  }

  /** Serving processes that take no more runs, by what stops them. */
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
    // An end is told in a later tick, so that callers need not expect it inside `execute`.
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
  ): Promise<Reply> {
    const graphId = typeof fields.graph_id === "string" ? fields.graph_id : undefined
    const generation = graphId === undefined ? this.#newest : this.#routes.get(graphId)
    const session = generation?.leastBusy(graphId)?.session
    if (session) return session.call(method, fields, payload)
    const refusal = graphId === undefined ? undefined : this.#refusalOf(graphId)
    if (refusal) throw new Conflict(refusal.message, "graph_unavailable")
    throw new Unavailable("no worker is up that could answer")
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#held.stop()
    this.#solos.handBack()
    await this.#untilIdle(graceMs)
    await this.#drain(Math.min(graceMs, mostDrainMs))
    const stops = this.#generations.map((generation) => generation.stop())
    await Promise.all([...this.#ending, ...stops, this.#solos.stop()])
    await this.#replacing
    // Which graphs there are stays known: a request that comes while the server stops is for the queue, not for a 404.
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
        workers,
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
    return { socket, handlers, backlog, log, serverEnv, mains, python, limits: this.#limits, loopback }
  }

  #workers(): readonly Worker[] {
    return this.#generations.flatMap((generation) => generation.workers)
  }

  #route(generation: Generation): void {
    const wanted = Object.keys(generation.project.graphs)
    this.#routes = routesAfter(this.#routes, generation, { wanted, loaded: generation.report().graphs })
  }

  /** A process came back, perhaps with a graph that did not load before. Nothing is switched before the first have told. */
  #serving(generation: Generation): void {
    if (generation !== this.#newest) return
    this.#route(generation)
    this.#offer()
  }

  /** Slots came up: runs that wait here go first. */
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

  /** Ends generations that no graph leads to any more, as soon as their runs have ended (G3). */
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

  /** @returns false when no worker is up that has the graph, which may pass */
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

  /** Why a graph cannot be executed by anybody; undefined when that may pass. */
  #refusalOf(graphId: string): RunFailure | undefined {
    if (this.#routes.has(graphId) || !this.#newest) return undefined
    // A generation that is still loading may bring it.
    const isKnown = [this.#newest, this.#generations.at(-1)].some((it) =>
      Object.hasOwn(it?.project.graphs ?? {}, graphId),
    )
    if (!isKnown)
      return { error: "GraphNotFound", message: `the project has no graph "${graphId}": add it to langgraph.json` }
    const failure = this.#newest.isServing && this.report().failed.find((failed) => failed.graphId === graphId)
    return failure ? { error: "GraphLoadError", message: failure.message } : undefined
  }

  /** Hands runs back between two super-steps, so that none of theirs is executed again. */
  async #drain(ms: number): Promise<void> {
    // Who gives no grace wants the server gone.
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
