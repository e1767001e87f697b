/** How many more runs one worker process takes, according to its reported load (P19). */

/** Why a worker takes no more runs. */
export type RoomLimit = "jobs" | "event_loop" | "memory"

export interface Load {
  /** Runs that execute in the worker. */
  readonly running: number
  /** Runs that it got since its last report. */
  readonly startedSince: number
  /** Its last report; undefined without one since it was idle. */
  readonly report: Report | undefined
}

export interface Report {
  /** The share of time in which it computed, from 0 to 1. */
  readonly busy: number
  readonly memoryMb: number
  /** Runs that ended since the report before. */
  readonly ended: number
}

export interface RoomLimits {
  /** The maximum of concurrent runs (`N_JOBS_PER_WORKER`). */
  readonly maxRuns: number
  /** The memory limit, in megabytes; 0 for no limit. */
  readonly memoryMb: number
}

// The maximum of starts between two reports. Their cost is known only after the next report, so a graph that computes gets
// no more runs than this.
const maxStarts = 50

// A few runs keep a computing worker busy, since they take turns while they wait for checkpoints. Where runs are so short that many end
// between two reports, the worker takes more of them in advance: fetching each from the queue costs more.
const fewRuns = 10
const runsPerEnded = 2

// Share of the time.
const maxBusy = 0.85

// Share of the memory limit. The memory of runs grows after they start.
const maxMemory = 0.75

/** Whether a worker computes so much of the time that each further run slows down the others. */
export const reportsBusy = ({ busy }: Pick<Report, "busy">): boolean => busy > maxBusy

/** @returns how many runs the worker takes now, and the reason when that is 0. Pure. */
export function roomOf({ running, startedSince, report }: Load, { maxRuns, memoryMb }: RoomLimits): Room {
  const left = maxRuns - running
  if (left <= 0) return full("jobs")
  if (report === undefined) return atMost(Math.min(left, maxStarts - running), "event_loop")
  if (memoryMb > 0 && report.memoryMb > memoryMb * maxMemory) return full("memory")
  const most = reportsBusy(report) ? fewRuns + runsPerEnded * report.ended - running : maxStarts - startedSince
  return atMost(Math.min(left, most), "event_loop")
}

export interface Room {
  readonly free: number
  readonly limit: RoomLimit | undefined
}

const full = (limit: RoomLimit): Room => ({ free: 0, limit })
const atMost = (free: number, limit: RoomLimit): Room => (free > 0 ? { free, limit: undefined } : full(limit))
