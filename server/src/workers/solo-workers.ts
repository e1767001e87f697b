/**
 * Workers that execute one run each: a process is started for the run, loads its graph and ends with it (P12). So a run that
 * kills its worker harms no other run, and its cause is certain. Owns its processes; `stop` ends them.
 */
import { Child, type ChildSetting, type WorkerProject } from "./child.js"
import { runFailure } from "./error-codes.js"
import type { RunListener, RunOrder } from "./port.js"
import type { Session } from "./session.js"
import { toFailure } from "./worker.js"

// Each usually needs 100 MB. After the death of a worker with many long runs, more than a few of them must be able to execute.
const processesPerPlace = 8

interface Solo {
  readonly order: RunOrder
  readonly child: Child
  /** Undefined once the run's end was reported, or the run was given to the process. */
  waiting: RunListener | undefined
  /** Whether the run has executed for `provenMs`, and so no longer counts towards `limit`. */
  isProven: boolean
  proof: NodeJS.Timeout | undefined
}

export class SoloWorkers {
  readonly #limit: number
  readonly #provenMs: number
  readonly #onFree: () => void
  readonly #solos = new Set<Solo>()
  #started = 0
  #onEmpty: () => void = () => undefined

  /**
   * @param limit     the maximum of concurrent processes whose run is not proven yet
   * @param provenMs  how long a run must execute to be proven, in milliseconds
   */
  constructor({ limit, provenMs, onFree }: { limit: number; provenMs: number; onFree: () => void }) {
    this.#limit = limit
    this.#provenMs = provenMs
    this.#onFree = onFree
  }

  get free(): number {
    const proven = [...this.#solos].filter(({ isProven }) => isProven).length
    const unproven = this.#solos.size - proven
    return Math.max(0, Math.min(this.#limit - unproven, this.#limit * processesPerPlace - this.#solos.size))
  }

  /** How many processes exist. */
  get size(): number {
    return this.#solos.size
  }

  execute(order: RunOrder, listener: RunListener, project: WorkerProject, setting: ChildSetting): void {
    this.#started += 1
    // Loads only the run's graph: that is faster, and no other graph can end the process.
    const { [order.graphId]: path = "" } = project.graphs
    const child: Child = new Child(
      `solo.${this.#started}`,
      { ...project, graphs: { [order.graphId]: path } },
      setting,
      {
        onLoaded: ({ failed: [failed] }) => {
          if (failed) this.#refuse(solo, toFailure(failed).message)
          else this.#begin(solo)
        },
        // The process stops after the listener was called in this tick.
        onRunLeft: () => child.stop(),
        onRoom: () => undefined,
        onOverload: () => undefined,
        onEnded: (detail, { isStopped }) => this.#ended(solo, detail, isStopped),
      },
    )
    const solo: Solo = { order, child, waiting: listener, isProven: false, proof: undefined }
    this.#solos.add(solo)
  }

  cancel(claimId: string): void {
    const solo = this.#find(claimId)
    if (solo?.waiting) this.#conclude(solo, (listener) => listener.onDone(cancelled))
    else solo?.child.session?.cancel(claimId)
  }

  /** Ends the process with its run, since it has no other work. */
  giveUp(claimId: string): void {
    const solo = this.#find(claimId)
    if (!solo) return
    solo.waiting = undefined
    solo.child.session?.runs.giveUp(claimId)
    solo.child.kill("its run did not stop")
  }

  /** Hands back the runs whose process is still loading. */
  handBack(): void {
    for (const solo of this.#solos) {
      if (solo.waiting) this.#conclude(solo, (listener) => listener.onLost("stopped", "the server stops"))
    }
  }

  /** Asks every run to stop after its super-step. */
  drain(): void {
    for (const { child } of this.#solos) child.session?.drain()
  }

  /** Resolves when no run executes. */
  async untilEmpty(): Promise<void> {
    if (this.#solos.size === 0) return
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve
    })
  }

  async stop(): Promise<void> {
    for (const { child } of this.#solos) child.stop()
    await this.untilEmpty()
  }

  #find(claimId: string): Solo | undefined {
    return [...this.#solos].find(({ order }) => order.claimId === claimId)
  }

  #begin(solo: Solo): void {
    const session: Session | undefined = solo.child.session
    const listener = solo.waiting
    solo.waiting = undefined
    if (!listener || !session) return
    session.execute(solo.order, listener)
    solo.proof = setTimeout(() => {
      solo.isProven = true
      this.#onFree()
    }, this.#provenMs)
    solo.proof.unref()
  }

  #refuse(solo: Solo, message: string): void {
    const error = runFailure("GraphLoadError", message)
    this.#conclude(solo, (listener) => listener.onDone({ ...cancelled, status: "error", error }))
  }

  /** Reports the end of a run before its process got it. */
  #conclude(solo: Solo, tell: (listener: RunListener) => void): void {
    const { waiting } = solo
    solo.waiting = undefined
    if (waiting) tell(waiting)
    solo.child.stop()
  }

  #ended(solo: Solo, detail: string, isStopped: boolean): void {
    clearTimeout(solo.proof)
    this.#solos.delete(solo)
    solo.waiting?.onLost(isStopped ? "stopped" : "worker_died", `${detail}, while it loaded ${solo.order.graphId}`)
    this.#onFree()
    if (this.#solos.size === 0) this.#onEmpty()
  }
}

const cancelled = { status: "cancelled", error: undefined, next: [], values: undefined, interrupts: "{}" } as const
