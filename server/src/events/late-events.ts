/** Logs the last events of runs whose end was committed without them: they did not execute then, or had no log yet. */
import type { Db } from "@superstep/toolkit/db/database"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import type { Log } from "@superstep/toolkit/log/log"
import { type Clock, pauseFor, realClock } from "@superstep/toolkit/time/clock"
import { type AppendedTo, appendLateEvents, type NewEvent } from "./queries.js"

const retryDelayMs = 200

export interface LateEventsOptions {
  readonly db: Db
  readonly log: Log
  readonly clock?: Clock | undefined
  /** Events of a run were committed. */
  onAppended(run: AppendedTo): void
}

export class LateEvents {
  readonly #options: LateEventsOptions
  #isStopped = false

  constructor(options: LateEventsOptions) {
    this.#options = options
  }

  /**
   * Logs the events as soon as the database is available.
   * @returns  those that the log has taken
   * @throws Unavailable  the server stops before
   */
  async append(runId: string, events: readonly NewEvent[]): Promise<readonly NewEvent[]> {
    const { db, log, onAppended, clock = realClock } = this.#options
    for (;;) {
      try {
        const { threadId, taken } = await appendLateEvents(db, runId, events)
        onAppended({ runId, threadId })
        return taken
      } catch (err) {
        if (!isPassing(err) || this.#isStopped) throw err
        log.warn({ err, run_id: runId }, "the last events of a run could not be logged, will retry")
        await pauseFor(clock, retryDelayMs)
      }
    }
  }

  /** Events that cannot be logged now are given up. */
  stop(): void {
    this.#isStopped = true
  }
}
