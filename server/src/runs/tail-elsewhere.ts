/** Gives subscribers here the events of a run that executes on another server. */
import type { Database } from "@superstep/toolkit/db/database"
import type { EndOfRun, Streams } from "../events/streams.js"
import type { Peers } from "../servers/peers.js"
import type { Claimer } from "../servers/server.js"
import { findStartableRun, findUnsavedInputs, watchRun } from "./queries.js"
import { isFinal } from "./run.js"

interface Parts {
  readonly db: Database
  readonly streams: Streams
  readonly claimer: Claimer
  readonly peers: Pick<Peers, "runWaits">
}

/**
 * Makes sure that the subscribers of a run get its events, wherever it executes. It tails the log before it reads the
 * status, so that it cannot miss an end in between.
 * @returns with what to end the subscribers when the run is over, `rollback` when it is gone; undefined while it goes on
 */
export async function tailElsewhere(
  { db, streams, claimer, peers }: Parts,
  runId: string,
  from?: number,
): Promise<EndOfRun | undefined> {
  if (streams.isExecuting(runId)) return undefined
  await streams.runs.tail(runId, from)
  const status = await watchRun(db, runId, claimer.serverId)
  if (status === undefined) return { status: "rollback", isUnsaved: false }
  if (isFinal(status)) return { status, isUnsaved: (await findUnsavedInputs(db, [runId])).length > 0 }
  // A server that looked at the queue while `watchRun` held its lock skipped the run.
  const waiting = status === "pending" ? await findStartableRun(db, runId) : undefined
  if (waiting) peers.runWaits(waiting)
  streams.announceWatched(runId)
  return undefined
}
