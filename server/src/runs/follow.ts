/** Following a run that does not execute in this server. */
import type { Database } from "@superstep/toolkit/db/database"
import type { RunStreams } from "../events/run-streams.js"
import type { Claimer } from "./claims.js"
import { watchRun } from "./queries.js"
import { isFinal } from "./run.js"

export interface Following {
  readonly db: Database
  readonly streams: RunStreams
  readonly claimer: Claimer
}

/**
 * Lets the subscribers of a run hear of it, wherever it executes. It begins to follow before it asks, so that an end in
 * between cannot be missed.
 * @returns the status with which to end them, when the run is over; `rollback` when it is gone
 */
export async function followElsewhere(
  { db, streams, claimer }: Following,
  runId: string,
  from?: number,
): Promise<string | undefined> {
  if (streams.isExecuting(runId)) return undefined
  await streams.follow(runId, from)
  const status = await watchRun(db, runId, claimer.serverId)
  if (status === undefined) return "rollback"
  return isFinal(status) ? status : undefined
}
