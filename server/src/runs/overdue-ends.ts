/**
 * Tells clients of the end of a run that nobody else will tell them: its server died after Postgres had taken the run's
 * end and before the event log had it. Whoever follows such a run elsewhere would wait for ever (B3).
 */
import type { Db } from "@superstep/toolkit/db/database"
import type { RunStreams } from "../events/run-streams.js"
import { findStatuses } from "./queries.js"
import { isFinal } from "./run.js"

export class OverdueEnds {
  /** Followed runs that were over when they were last looked at. */
  #over = new Set<string>()

  /**
   * Ends what is still followed and was over the last time already: who executed it has had all that time to tell. Call
   * it now and then.
   */
  async tell({ db, streams }: { readonly db: Db; readonly streams: RunStreams }): Promise<void> {
    const followed = streams.followedRuns()
    if (followed.length === 0) {
      this.#over.clear()
      return
    }
    const statuses = new Map((await findStatuses(db, followed)).map(({ run_id, status }) => [run_id, status]))
    const over = followed.filter((runId) => isFinal(statuses.get(runId) ?? "success"))
    // A run that is gone was rolled back, as when a client joins one.
    for (const runId of over) if (this.#over.has(runId)) streams.endAll(runId, statuses.get(runId) ?? "rollback")
    this.#over = new Set(over)
  }
}
