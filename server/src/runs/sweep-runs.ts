/** Deletes runs that ended long ago (`SUPERSTEP_KEEP_RUNS_DAYS`). Their threads stay, with their state and checkpoints. */
import type { Db } from "@superstep/toolkit/db/database"
import type { Sweep } from "../sweeps.js"
import { deleteEndedRuns } from "./queries.js"

// What is kept for days need not go within the minute; the first sweep of an old installation has much to do.
const everyMs = 5 * 60_000
// A statement of this many is over soon, and its locks with it.
const atATime = 1000

/** @param keepDays  0: runs stay @returns undefined when they stay */
export const runSweep = (db: Db, keepDays: number): Sweep | undefined =>
  keepDays === 0
    ? undefined
    : { what: "ended runs", everyMs, step: async () => (await deleteEndedRuns(db, keepDays, atATime)) === atATime }
