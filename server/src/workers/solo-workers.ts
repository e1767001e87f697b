/**
 * Workers that execute one run each: a process is started for it, loads its graph and ends with it (P12). So a run that
 * may kill its worker harms nobody, and when it does, nobody else can be to blame. Owns its processes; `stop` ends them.
 */
import { Child, type ChildSetting, type WorkerProject } from "./child.js"
import type { RunListener, RunOrder } from "./port.js"
import type { Session } from "./session.js"
import { toFailure } from "./worker.js"

interface Solo {
  readonly order: RunOrder
  readonly child: Child
  /** Undefined once the run was told how it ended here, or was handed to the process. */
  waiting: RunListener | undefined
}

export class SoloWorkers {
  readonly #limit: number
  readonly #onFree: () => void
  readonly #solos = new Set<Solo>()
  #started = 0
  #onEmpty: () => void = () => undefined

  /** @param limit  most processes at a time */
  constructor({ limit, onFree }: { limit: number; onFree: () => void }) {
    this.#limit = limit
    this.#onFree = onFree
  }

  get free(): number {
    return Math.max(0, this.#limit - this.#solos.size)
  }

  /** How many processes there are. */
  get size(): number {
    return this.#solos.size
  }

  execute(order: RunOrder, listener: RunListener, project: WorkerProject, setting: ChildSetting): void {
    this.#started += 1
    // Only the run's own graph: it loads in a part of the time, and no other graph can end the process.
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
        // Its end follows what the listener was told in this tick.
        onRunLeft: () => child.stop(),
        onAnswering: () => undefined,
        onEnded: (detail, isStopped) => this.#ended(solo, detail, isStopped),
      },
    )
    const solo: Solo = { order, child, waiting: listener }
    this.#solos.add(solo)
  }

  cancel(claimId: string): void {
    const solo = this.#find(claimId)
    if (solo?.waiting) this.#conclude(solo, (listener) => listener.onDone(cancelled))
    else solo?.child.session?.cancel(claimId)
  }

  /** Nobody else is in the process, so it ends with its run. */
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
    if (listener) session?.execute(solo.order, listener)
  }

  #refuse(solo: Solo, message: string): void {
    const error = { error: "GraphLoadError", message }
    this.#conclude(solo, (listener) => listener.onDone({ ...cancelled, status: "error", error }))
  }

  /** The run is over before its process had it. */
  #conclude(solo: Solo, tell: (listener: RunListener) => void): void {
    const { waiting } = solo
    solo.waiting = undefined
    if (waiting) tell(waiting)
    solo.child.stop()
  }

  #ended(solo: Solo, detail: string, isStopped: boolean): void {
    this.#solos.delete(solo)
    solo.waiting?.onLost(isStopped ? "stopped" : "worker_died", `${detail}, while it loaded ${solo.order.graphId}`)
    this.#onFree()
    if (this.#solos.size === 0) this.#onEmpty()
  }
}

const cancelled = { status: "cancelled", error: undefined, next: [], values: undefined, interrupts: "{}" } as const
