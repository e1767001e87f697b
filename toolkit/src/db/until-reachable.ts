/** Waits for a database that is about to be there: a machine that boots starts Postgres beside those who need it. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Log } from "../log/log.js"
import { asUnavailable, DatabaseUnavailable } from "./unavailable.js"

const retryDelayMs = 200

/**
 * Does something with a database, and does it again while nothing answers there.
 * @param forMs  how long nothing may answer, in milliseconds
 * @throws DatabaseUnavailable  when nothing has answered in that time; any other error of `work` at once
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
