/** The reported load of one worker process: how many more runs it takes (P19), and whether it is overloaded (P20). */
import { type Report, type Room, type RoomLimits, reportsBusy, roomOf } from "./worker-room.js"

export interface WorkerLoadOptions {
  readonly limits: RoomLimits
  /** How long a worker must compute without a pause to be overloaded, in milliseconds. */
  readonly overloadMs: number
  /** How many runs execute in the worker. */
  running(): number
  /** False while this process does not read from the worker, so that its reports do not arrive. */
  isHeard(): boolean
  /** Called when the worker takes new runs again. */
  onRoom(): void
  /** Called when the worker is overloaded, repeatedly while that lasts. */
  onOverload(): void
}

export class WorkerLoad {
  readonly #options: WorkerLoadOptions
  #report: Report | undefined
  #startedSince = 0
  #endedSince = 0
  /** Active while runs execute; restarted by each report that shows free time. */
  #overloadTimer: NodeJS.Timeout | undefined
  #reportsSinceTimer = 0
  #computesWithoutPause = false
  /** The worker's event loop is blocked: not even a report arrives. */
  #isSilent = false

  constructor(options: WorkerLoadOptions) {
    this.#options = options
  }

  /** How many more runs the worker takes. A worker whose reports stop takes none: its event loop is blocked. */
  get room(): Room {
    if (this.#isSilent) return { free: 0, limit: "event_loop" }
    const load = { running: this.#options.running(), startedSince: this.#startedSince, report: this.#report }
    return roomOf(load, this.#options.limits)
  }

  /**
   * Whether the worker has its maximum of runs or memory, or has computed without a pause for `overloadMs`. A short computation
   * is not an overload: the first runs of a process compute more than later ones.
   */
  get isOverloaded(): boolean {
    const { limit } = this.room
    return this.#computesWithoutPause || limit === "jobs" || limit === "memory"
  }

  runStarted(): void {
    this.#startedSince += 1
    if (this.#overloadTimer === undefined) this.#startTimer()
    if (this.isOverloaded) this.#options.onOverload()
  }

  runEnded(): void {
    this.#endedSince += 1
    if (this.#options.running() > 0) return
    this.stop()
    this.#note(undefined)
  }

  reported({ busy, memoryMb }: Pick<Report, "busy" | "memoryMb">): void {
    // The report was sent before the worker's last run ended.
    if (this.#options.running() === 0) return
    const wasFull = this.room.free === 0
    this.#note({ busy, memoryMb, ended: this.#endedSince })
    if (reportsBusy({ busy })) this.#reportsSinceTimer += 1
    else this.#startTimer()
    if (wasFull && this.room.free > 0) this.#options.onRoom()
    if (this.isOverloaded) this.#options.onOverload()
  }

  /** Called when the worker is idle or has ended. */
  stop(): void {
    clearTimeout(this.#overloadTimer)
    this.#overloadTimer = undefined
    this.#computesWithoutPause = false
  }

  #startTimer(): void {
    this.stop()
    this.#reportsSinceTimer = 0
    const timer = setTimeout(() => {
      // First reads reports that arrived while this process was blocked.
      setImmediate(() => {
        if (timer === this.#overloadTimer) this.#timeIsUp()
      })
    }, this.#options.overloadMs)
    this.#overloadTimer = timer.unref()
  }

  #timeIsUp(): void {
    const { isHeard, onOverload } = this.#options
    const isSilent = this.#reportsSinceTimer === 0
    this.#startTimer()
    if (!isHeard()) return
    this.#isSilent = isSilent
    this.#computesWithoutPause = true
    onOverload()
  }

  #note(report: Report | undefined): void {
    this.#report = report
    this.#startedSince = 0
    this.#endedSince = 0
    this.#isSilent = false
  }
}
