/**
 * Writes missing end events: a server may die after it committed a run's status and before the event log has the end.
 * Without this, clients that follow such a run would wait forever (B3).
 */
import type { Db } from "@superstep/toolkit/db/database"
import type { Streams } from "../events/streams.js"
import { findUnloggedEnds, findUnloggedEndsOfThreads } from "./queries.js"

export class OverdueEnds {
  /** Followed runs, and runs of followed threads, that were over without an end in the log at the last call. */
  #over = new Set<string>()

  /**
   * Announces the ends of followed runs that were already over without an end at the last call: the server that executed
   * them had all that time to write it. Call it regularly.
   */
  async tell({ db, streams }: { readonly db: Db; readonly streams: Streams }): Promise<void> {
    const followed = streams.runs.followedInLog().map(({ id }) => id)
    const threads = streams.protocol.ids()
    const over = [
      ...(followed.length === 0 ? [] : await findUnloggedEnds(db, followed)),
      ...(threads.length === 0 ? [] : await findUnloggedEndsOfThreads(db, threads)),
    ]
    const overdue = over.filter(({ runId }) => this.#over.has(runId))
    this.#over = new Set(over.map(({ runId }) => runId))
    for (const { runId, status, error, inputSaved, threadId } of overdue) {
      const ended = { error: error ?? undefined, threadId: threadId ?? undefined, isUnsaved: inputSaved === false }
      await streams.announceEnd(runId, status, ended)
    }
  }
}
