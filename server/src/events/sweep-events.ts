/** Forgets the logs of runs that are over. */
import type { Db } from "@superstep/toolkit/db/database"
import type { Sweep } from "../sweeps.js"
import { deleteOldEvents } from "./queries.js"

// Often enough to keep the table small, rarely enough to cost nothing.
const everyMs = 30_000
// A statement of this many is over soon, and its locks with it.
const atATime = 5000

export interface EventSweep {
  /** How long the log of a run stays after its end. */
  readonly ttlSeconds: number
  /** Runs whose logs are being read in this process: they stay until their readers have come to the end. */
  readonly readHere: () => readonly string[]
}

export const eventSweep = (db: Db, { ttlSeconds, readHere }: EventSweep): Sweep => ({
  what: "events of runs that are over",
  everyMs,
  step: async () => (await deleteOldEvents(db, { ttlSeconds, keep: readHere(), limit: atATime })) === atATime,
})
