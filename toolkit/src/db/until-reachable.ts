/** Waits for a database that is about to start: at boot, Postgres starts at the same time as its clients. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Log } from "../log/log.js"
import { asUnavailable, DatabaseUnavailable } from "./unavailable.js"

const retryDelayMs = 200

/**
 * Runs `work` with a database, and retries while the database is unreachable.
 * @param forMs  how long it may be unreachable, in milliseconds
 * @throws DatabaseUnavailable  when it was unreachable for that time; any other error of `work` at once
 */
export async function untilReachable<T>(work: () => Promise<T>, options: { forMs: number; log: Log }): Promise<T> {
  const deadline = performance.now() + options.forMs
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await work()
    } catch (thrown) {
      const error = asUnavailable(thrown)
      if (!(error instanceof DatabaseUnavailable) || performance.now() > deadline) throw error
      if (isFirst) options.log.warn({ err: error }, "waiting for the database")
      await sleep(retryDelayMs)
    }
  }
}
