/** Deletes the logs of runs that are over. */
import type { Db } from "@superstep/toolkit/db/database"
import type { Sweep } from "@superstep/toolkit/db/sweeps"
import { noteLogsRead } from "../servers/queries.js"
import { deleteOldEvents } from "./queries.js"

// Often enough to keep the table small, seldom enough to cost nothing.
const everyMs = 30_000
// A statement that deletes this many is short, and so are its locks.
const atATime = 5000

// Each server records what it reads once in that time, and one record may fail: so long a log is kept for readers that began in time.
const unrecordedMs = 2 * everyMs

export interface EventSweep {
  readonly serverId: string
  /** How long after a run's end a client can begin to read its log. */
  readonly ttlSeconds: number
  /** Runs and threads whose logs are being read in this process: no server deletes them until their readers reach the end. */
  readonly readHere: () => readonly string[]
}

export const eventSweep = (db: Db, { serverId, ttlSeconds, readHere }: EventSweep): Sweep => ({
  what: "events of runs that are over",
  everyMs,
  step: async () => {
    const keep = readHere()
    await noteLogsRead(db, serverId, keep)
    const old = { ttlSeconds: ttlSeconds + unrecordedMs / 1000, keep, limit: atATime }
    return (await deleteOldEvents(db, old)) === atATime
  },
})
