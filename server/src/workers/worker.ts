/** A slot for a worker process, which is replaced each time it dies (P4). */
import type { LoadedFrame } from "@superstep/protocol/worker/frames"
import { Child, type ChildEnd, type ChildSetting, type WorkerProject } from "./child.js"
import { languageOfWorker } from "./languages.js"
import type { GraphFailure, LoadReport } from "./port.js"
import { judgeCrash, type ProjectCrashes } from "./project-crashes.js"
import { afterDeath } from "./restart-delay.js"
import type { RunsInFlight } from "./runs-in-flight.js"
import type { Session } from "./session.js"
import type { Room } from "./worker-room.js"

export interface WorkerOptions {
  /** Its name in logs; each process adds its number: `1.2.3` is the third process of worker 2 of generation 1. */
  readonly name: string
  readonly project: WorkerProject
  readonly setting: ChildSetting
  /** Whether a process that died may be replaced now: an old generation's sources no longer exist (G4). */
  mayRestart(): boolean
  /** Counts the crashes that the project caused (P17). */
  readonly crashes: ProjectCrashes
  /** Whether it has work that its session does not know of. */
  readonly hasOtherWork?: () => boolean
  onServing(): void
  onRunLeft(): void
  /** Called when its process takes new runs again. */
  onRoom(): void
  /** Called when its process is overloaded (`worker-load.ts`), repeatedly while that lasts. */
  onOverload(): void
  /** Called when a process died; it is replaced if `mayRestart` returns true. */
  onDied(): void
}

const deathsBeforeReport = 2

export class Worker {
  /** What the last process that reported has loaded, or why loading failed. */
  report: LoadReport = { graphs: [], failed: [] }
  /** The `loaded` frame of the serving process, for the gate. */
  loaded: LoadedFrame | undefined
  /** Resolves when a process has reported what it loaded, or when it is clear that none will. */
  readonly firstReport: Promise<void>
  readonly #options: WorkerOptions
  #tellFirstReport: () => void = () => undefined
  #child: Child | undefined
  #started = 0
  #deaths = 0
  #servingSince: number | undefined
  /** The runs of the process that serves or served last. */
  #runs: RunsInFlight | undefined
  /** Whether a process has loaded once; its report stays valid while the next process loads. */
  #hasLoaded = false
  #deathsAtLoad = 0
  #youngCrashes = 0
  #restart: NodeJS.Timeout | undefined
  #stopped: Promise<void> | undefined
  #onGone: () => void = () => undefined

  constructor(options: WorkerOptions) {
    this.#options = options
    this.firstReport = new Promise((resolve) => {
      this.#tellFirstReport = resolve
    })
    this.#start()
  }

  /** The session with the process, while it serves. */
  get session(): Session | undefined {
    return this.#child?.session
  }

  get runsInFlight(): number {
    return this.session?.runs.size ?? 0
  }

  /** Whether its event loop runs; a worker with a blocked one gets no new runs. */
  get isAnswering(): boolean {
    return this.#child?.isAnswering ?? false
  }

  /** How many more runs it takes; none while its event loop is blocked (P5). */
  get room(): Room {
    if (this.session === undefined) return { free: 0, limit: undefined }
    return this.isAnswering ? this.session.room : { free: 0, limit: "event_loop" }
  }

  /** Whether another worker is needed (P20). */
  get isOverloaded(): boolean {
    return this.session !== undefined && (this.session.isOverloaded || !this.isAnswering)
  }

  /** Whether its process replaced one that died. */
  get isReplaced(): boolean {
    return this.#started > 1
  }

  /** Drops a run that does not stop; the process goes on unless it does not answer pings either (P13). */
  giveUp(claimId: string): void {
    if (this.session?.runs.runOf(claimId) === undefined) return
    this.session.runs.giveUp(claimId)
    if (!this.isAnswering) this.#child?.kill("its event loop is held by a run whose time is over")
  }

  serves(graphId: string): boolean {
    return this.session !== undefined && this.report.graphs.includes(graphId)
  }

  /** Ends the process without replacement and waits for its end; runs in flight are lost. */
  stop(): Promise<void> {
    this.#stopped ??= new Promise((resolve) => {
      clearTimeout(this.#restart)
      this.#onGone = resolve
      if (this.#child) return this.#child.stop()
      // No process is running now, and none will report.
      this.#tellFirstReport()
      resolve()
    })
    return this.#stopped
  }

  /** All graphs of a worker's project are in one language (`byLanguage`). */
  get language() {
    return languageOfWorker(this.#options.project)
  }

  #start(): void {
    const { name, project, setting, onRunLeft, onRoom, onOverload } = this.#options
    this.#started += 1
    this.#servingSince = undefined
    this.#runs = undefined
    this.#child = new Child(`${name}.${this.#started}`, project, setting, {
      onLoaded: (frame) => this.#loaded(frame),
      onRunLeft,
      onRoom,
      onOverload,
      onEnded: (detail, end) => this.#ended(detail, end),
    })
  }

  #loaded(frame: LoadedFrame): void {
    this.loaded = frame
    this.report = {
      graphs: frame.graphs.map(({ graph_id }) => graph_id),
      failed: failuresOf(frame),
      ...(frame.langgraph_version !== undefined && { langgraph: { [this.language]: frame.langgraph_version } }),
    }
    this.#servingSince = performance.now()
    this.#hasLoaded = true
    this.#runs = this.session?.runs
    this.#tellFirstReport()
    this.#options.onServing()
  }

  #ended(detail: string, { isKilledByOthers, wasBusy }: ChildEnd): void {
    const { setting, name, mayRestart, onDied } = this.#options
    this.#child = undefined
    if (this.#stopped) {
      this.#tellFirstReport()
      this.#onGone()
      return
    }
    const servedMs = this.#servingSince === undefined ? 0 : performance.now() - this.#servingSince
    const hadRuns = this.#runs?.hadAny ?? false
    this.#countCrash(detail, { servedMs, wasBusy })
    const { deaths, delayMs } = afterDeath(this.#deaths, { servedMs, hadRuns })
    this.#deaths = deaths
    const restarts = mayRestart()
    setting.log.warn({ worker: name, detail, restart_in_ms: restarts ? delayMs : undefined }, "a worker died")
    if (restarts) this.#restart = setTimeout(() => this.#start(), delayMs)
    if (this.#servingSince === undefined && !this.#hasLoaded) this.#loadFailed(detail, restarts && isKilledByOthers)
    onDied()
  }

  #countCrash(detail: string, { servedMs, wasBusy }: { servedMs: number; wasBusy: boolean }): void {
    const { crashes, hasOtherWork = () => false } = this.#options
    const crash = { servedMs, wasBusy: wasBusy || hasOtherWork(), youngBefore: this.#youngCrashes }
    const { counts, youngInARow } = judgeCrash(crash)
    this.#youngCrashes = youngInARow
    if (counts) crashes.record(detail)
  }

  /** A signal from outside need not be caused by the graphs, unless the next process ends in the same way. */
  #loadFailed(detail: string, mayBeChance: boolean): void {
    this.#deathsAtLoad += 1
    if (mayBeChance && this.#deathsAtLoad < deathsBeforeReport) return
    this.report = this.#deathReport(detail)
    this.#tellFirstReport()
  }

  #deathReport(detail: string): LoadReport {
    const { graphs, auth, app } = this.#options.project
    const parts = [...(auth === undefined ? [] : ["auth.path"]), ...(app === undefined ? [] : ["http.app"])]
    const graphIds = [...Object.keys(graphs), ...parts]
    const message = `the worker ended while it loaded ${graphIds.join(", ")}: ${detail}`
    return { graphs: [], failed: graphIds.map((graphId) => ({ graphId, message })) }
  }
}

/** An auth module or an app that did not load is reported like a graph, with its key in langgraph.json. */
const failuresOf = ({ failed, auth_error, app_error }: LoadedFrame): GraphFailure[] => [
  ...failed.map(toFailure),
  ...(auth_error ? [toFailure({ graph_id: "auth.path", error: auth_error })] : []),
  ...(app_error ? [toFailure({ graph_id: "http.app", error: app_error })] : []),
]

export const toFailure = ({ graph_id, error }: LoadedFrame["failed"][number]): GraphFailure => ({
  graphId: graph_id,
  message: `${error.name}: ${error.message}`,
  codeFrame: error.code_frame || undefined,
})
