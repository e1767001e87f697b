/**
 * Which crashes of worker processes count against the project as a whole. The control plane reads them with a unit's status,
 * and rolls back a new revision that has two of them while it is watched (control/src/pipeline/README.md, P7).
 *
 * A crash is an unrequested end of a process, whatever the cause: an exit, a signal, its memory limit, a blocked event loop.
 * It counts (P17) when
 *  - the process had no run, call or request: then none of them can be the cause, but a module's own timer can; or
 *  - the process before it also crashed within half a minute of its start, whatever work the two had: then a run is unlikely
 *    to be the cause, because a run whose worker died executes in its own process from then on (P12).
 * The crash of a process that executes one run alone never counts: it is that run's loss (R5).
 * So a run that kills its worker costs one worker process, and does not count against the deployment.
 */
import type { WorkerCrashes } from "@superstep/protocol/unit/replies"

// Longer than a graph needs to load and to fail at its first run; two of these fit into the minute of the watch.
const youngMs = 30_000

export interface Crash {
  /** How long the process has served; 0 when it never did. */
  readonly servedMs: number
  /** Whether it had a run, a call or a request. */
  readonly wasBusy: boolean
  /** How many earlier processes of the same worker crashed in a row within `youngMs` of their start. */
  readonly youngBefore: number
}

/** Pure. @returns whether the crash counts, and the new number of early crashes in a row */
export function judgeCrash({ servedMs, wasBusy, youngBefore }: Crash): { counts: boolean; youngInARow: number } {
  const isYoung = servedMs < youngMs
  return { counts: !wasBusy || (isYoung && youngBefore > 0), youngInARow: isYoung ? youngBefore + 1 : 0 }
}

// The same time that an agent server must run to be restarted without a back-off (control/src/pipeline/restart.ts).
const forgottenMs = 600_000

/** The counted crashes of one server's workers. */
export class ProjectCrashes {
  readonly #now: () => number
  #count = 0
  #last: string | null = null
  #lastAt = Number.NEGATIVE_INFINITY

  /** @param now  a monotonic clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** @param detail  why the process ended */
  record(detail: string): void {
    this.#count = this.report().count + 1
    this.#last = detail
    this.#lastAt = this.#now()
  }

  report(): WorkerCrashes {
    const isOver = this.#now() - this.#lastAt >= forgottenMs
    return isOver ? { count: 0, last: null } : { count: this.#count, last: this.#last }
  }
}
