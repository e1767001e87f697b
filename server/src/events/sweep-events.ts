/** Deletes the logs of runs that are over. */
import type { Db } from "@superstep/toolkit/db/database"
import type { Sweep } from "@superstep/toolkit/db/sweeps"
import { deleteOldEvents } from "./queries.js"

// Often enough to keep the table small, seldom enough to cost nothing.
const everyMs = 30_000
// A statement that deletes this many is short, and so are its locks.
const atATime = 5000

export interface EventSweep {
  /** How long the log of a run is kept after its end. */
  readonly ttlSeconds: number
  /** Runs and threads whose logs are being read in this process: they are kept until their readers reach the end. */
  readonly readHere: () => readonly string[]
}

export const eventSweep = (db: Db, { ttlSeconds, readHere }: EventSweep): Sweep => ({
  what: "events of runs that are over",
  everyMs,
  step: async () => (await deleteOldEvents(db, { ttlSeconds, keep: readHere(), limit: atATime })) === atATime,
})
