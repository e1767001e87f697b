/** Deletes runs that ended long ago (`SUPERSTEP_KEEP_RUNS_DAYS`). Their threads stay, with their state and checkpoints. */
import type { Db } from "@superstep/toolkit/db/database"
import type { Sweep } from "../sweeps.js"
import { beforeAllRuns, deleteEndedRuns } from "./queries.js"

// What is kept for days need not go within the minute, and each sweep looks at the newest run of every old thread.
const everyMs = 60 * 60_000
// A statement of this many is over soon, and its locks with it.
const atATime = 1000

/** @param keepDays  0: runs stay @returns undefined when they stay */
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
