/** How many more runs one worker process takes, by what it says of its load (P19). */

/** What stops a worker from taking more runs. */
export type RoomLimit = "jobs" | "event_loop" | "memory"

export interface Load {
  /** Runs that execute in it. */
  readonly running: number
  /** Runs that were given to it since its last report. */
  readonly startedSince: number
  /** What it reported last; undefined when it has reported nothing since it was idle. */
  readonly report: Report | undefined
}

export interface Report {
  /** The part of the time in which it computed. */
  readonly busy: number
  readonly memoryMb: number
  /** Runs that ended between this report and the one before. */
  readonly ended: number
}

export interface RoomLimits {
  /** Most runs at a time (`N_JOBS_PER_WORKER`). */
  readonly mostRuns: number
  /** Most memory, in megabytes; 0 for no limit. */
  readonly memoryMb: number
}

// Between two reports. What they cost is known only when the worker has reported again, so a graph that computes gets
// no more of them than this.
const mostStarts = 50

// A worker that computes is used well by a few runs, which take turns while they wait for checkpoints. Where runs are so short that
// many end between two reports, as many more wait for their turn in the worker: fetching each from the queue costs more.
const fewRuns = 10
const runsPerEnded = 2

// Above it, each further run makes the others slower.
const mostBusy = 0.85

// What runs hold grows after they were started.
const mostMemory = 0.75

/** @returns how many runs it takes now, and what the limit is when that is none. Pure. */
export function roomOf({ running, startedSince, report }: Load, { mostRuns, memoryMb }: RoomLimits): Room {
  const left = mostRuns - running
  if (left <= 0) return full("jobs")
  if (report === undefined) return atMost(Math.min(left, mostStarts - running), "event_loop")
  if (memoryMb > 0 && report.memoryMb > memoryMb * mostMemory) return full("memory")
  const most = report.busy > mostBusy ? fewRuns + runsPerEnded * report.ended - running : mostStarts - startedSince
  return atMost(Math.min(left, most), "event_loop")
}

export interface Room {
  readonly free: number
  readonly limit: RoomLimit | undefined
}

const full = (limit: RoomLimit): Room => ({ free: 0, limit })
const atMost = (free: number, limit: RoomLimit): Room => (free > 0 ? { free, limit: undefined } : full(limit))
