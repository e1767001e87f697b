/**
 * Which crashes of worker processes count against the project as a whole. The control plane reads them with a unit's status,
 * and takes a new revision back that has two of them while it is watched (control/src/pipeline/README.md, P7).
 *
 * A crash is an end that nobody ordered, whatever ended the process: an exit, a signal, its memory limit, an event loop that
 * stood still. It counts (P17) when
 *  - no run, question or request was in the process: then none of them can be its cause, but a module's own timer can; or
 *  - the process before it crashed within half a minute of its start as well, whatever was in the two: then a run is unlikely
 *    to be the cause, because a run that was in a crash executes in a process of its own from then on (P12).
 * The crash of a process that executes one run alone never counts: it is that run's loss (R5).
 * So one poisonous run costs its worker once, and the deployment nothing.
 */

// Longer than a graph needs to load and to fail at its first work; two of them fit into the minute of the watch.
const youngMs = 30_000

export interface Crash {
  /** How long the process has served; 0 when it never did. */
  readonly servedMs: number
  /** Whether a run, a question or a request was in it. */
  readonly wasBusy: boolean
  /** How many processes before it, at the same place, crashed young in a row. */
  readonly youngBefore: number
}

/** Pure. @returns whether it counts, and how many have crashed young in a row now */
export function judgeCrash({ servedMs, wasBusy, youngBefore }: Crash): { counts: boolean; youngInARow: number } {
  const isYoung = servedMs < youngMs
  return { counts: !wasBusy || (isYoung && youngBefore > 0), youngInARow: isYoung ? youngBefore + 1 : 0 }
}

// As long as an agent server must live to start without a back-off (control/src/pipeline/restart.ts).
const forgottenMs = 600_000

export interface CrashReport {
  /** In a row: without ten minutes in between. */
  readonly count: number
  /** Why the last process ended, such as `exit code 3`; null when there was none. */
  readonly last: string | null
}

/** The crashes of one server's workers that count. */
export class ProjectCrashes {
  readonly #now: () => number
  #count = 0
  #last: string | null = null
  #lastAt = Number.NEGATIVE_INFINITY

  /** @param now  a clock in milliseconds that only rises */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** @param detail  why the process ended */
  record(detail: string): void {
    this.#count = this.report().count + 1
    this.#last = detail
    this.#lastAt = this.#now()
  }

  report(): CrashReport {
    const isOver = this.#now() - this.#lastAt >= forgottenMs
    return isOver ? { count: 0, last: null } : { count: this.#count, last: this.#last }
  }
}
