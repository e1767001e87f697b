/** Deletes traces that are older than the setting says (`SUPERSTEP_KEEP_TRACES_DAYS`). */
import type { Db } from "@superstep/toolkit/db/database"
import type { Sweep } from "@superstep/toolkit/db/sweeps"
import { deleteOldSpans } from "./queries.js"

// Traces are kept for days, so minutes do not matter.
const everyMs = 10 * 60_000
// A statement that deletes this many is short, and so are its locks.
const atATime = 2000

export const spanSweep = (db: Db, keepDays: number): Sweep => ({
  what: "old traces",
  everyMs,
  step: async () => (await deleteOldSpans(db, { keepDays, limit: atATime })) === atATime,
})
