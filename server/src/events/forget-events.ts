/** Forgets the logs of runs that are over. */
import type { Db } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import { deleteOldEvents } from "./queries.js"

// Often enough to keep the table small, rarely enough to cost nothing.
const everyMs = 30_000

/**
 * @param ttlSeconds  how long the log of a run stays after its end
 * @returns a function that stops it
 */
export function forgetOldEvents(db: Db, { ttlSeconds, log }: { ttlSeconds: number; log: Log }): () => void {
  const timer = setInterval(() => {
    deleteOldEvents(db, ttlSeconds).catch((err: unknown) => log.warn({ err }, "old events could not be forgotten"))
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
