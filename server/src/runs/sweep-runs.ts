/** Deletes runs that ended long ago (`SUPERSTEP_KEEP_RUNS_DAYS`). Their threads stay, with their state and checkpoints. */
import type { Db } from "@superstep/toolkit/db/database"
import type { Sweep } from "@superstep/toolkit/db/sweeps"
import { beforeAllRuns, deleteEndedRuns } from "./queries.js"

// Runs that are kept for days need not be deleted within a minute, and each sweep reads the newest run of every old thread.
const everyMs = 60 * 60_000
// A statement that reads this many is short, and so are its locks.
const atATime = 1000

/** @param keepDays  0: runs are kept forever @returns undefined when runs are kept forever */
export function runSweep(db: Db, keepDays: number): Sweep | undefined {
  if (keepDays === 0) return undefined
  let after = beforeAllRuns
  const step = async () => {
    const next = await deleteEndedRuns(db, { keepDays, after, limit: atATime })
    after = next ?? beforeAllRuns
    return next !== undefined
  }
  return { what: "ended runs", everyMs, step }
}
