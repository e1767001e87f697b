/** Deletes traces that are older than the setting says (`SUPERSTEP_KEEP_TRACES_DAYS`), and those of runs that are gone (T3). */
import type { Db } from "@superstep/toolkit/db/database"
import type { Sweep } from "@superstep/toolkit/db/sweeps"
import { beforeAllSpans, deleteLeftSpans, deleteOldSpans } from "./queries.js"

// Traces are kept for days, so minutes do not matter.
const everyMs = 10 * 60_000
// A statement that deletes this many is short, and so are its locks.
const atATime = 2000

export const spanSweep = (db: Db, keepDays: number): Sweep => ({
  what: "old traces",
  everyMs,
  step: async () => (await deleteOldSpans(db, { keepDays, limit: atATime })) === atATime,
})

// Each time some tens of milliseconds for one portion of the runs that have traces: a round takes seconds in a small database, and an hour with
// a million of them.
const leftEveryMs = 5_000
const runsAtATime = 2000

/** @param runs  how many runs with traces a step looks at */
export function leftSpanSweep(db: Db, runs = runsAtATime): Sweep {
  let after = beforeAllSpans
  const step = async () => {
    const { next, deleted } = await deleteLeftSpans(db, { after, runs, limit: atATime })
    // The same runs again: some of their spans may be left.
    if (deleted === atATime) return true
    after = next ?? beforeAllSpans
    return false
  }
  return { what: "traces of deleted runs", everyMs: leftEveryMs, step }
}
