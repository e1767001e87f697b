/**
 * Writes the ends of runs that nobody else will write: a server died after Postgres had taken the run's status and before
 * the event log had its end. Who follows such a run would wait for ever (B3).
 */
import type { Db } from "@superstep/toolkit/db/database"
import type { RunStreams } from "../events/run-streams.js"
import { findUnloggedEnds } from "./queries.js"

export class OverdueEnds {
  /** Followed runs that were over, without an end in the log, when they were last looked at. */
  #over = new Set<string>()

  /**
   * Announces the end of what is still followed and was over the last time already: who executed it has had all that time.
   * Call it now and then.
   */
  async tell({ db, streams }: { readonly db: Db; readonly streams: RunStreams }): Promise<void> {
    const followed = streams.followedRuns()
    const over = followed.length === 0 ? [] : await findUnloggedEnds(db, followed)
    const overdue = over.filter(({ runId }) => this.#over.has(runId))
    this.#over = new Set(over.map(({ runId }) => runId))
    for (const { runId, status, error } of overdue) await streams.announceEnd(runId, status, error ?? undefined)
  }
}
