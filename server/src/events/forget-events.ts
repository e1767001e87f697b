/** Forgets the logs of runs that are over. */
import type { Db } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { deleteOldEvents } from "./queries.js"

// Often enough to keep the table small, rarely enough to cost nothing.
const everyMs = 30_000

export interface Forgetting {
  /** How long the log of a run stays after its end. */
  readonly ttlSeconds: number
  /** Runs whose logs are being read in this process: they stay until their readers have come to the end. */
  readonly readHere: () => readonly string[]
  readonly log: Log
}

/** @returns a function that stops it */
export function forgetOldEvents(db: Db, { ttlSeconds, readHere, log }: Forgetting): () => void {
  const timer = setInterval(() => {
    deleteOldEvents(db, ttlSeconds, readHere()).catch((err: unknown) =>
      log.warn({ err }, "old events could not be forgotten"),
    )
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
