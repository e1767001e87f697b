/** The way back from a switch. */
import type { Db } from "@superstep/toolkit/db/database"
import { serveWith, setActiveRevision, stopRevision } from "./queries.js"

/**
 * Ends the units that serve, and gives their requests and runs back to those that served before. Those should run, be
 * in the edge's table and be active from now on, so the reconciler sees to all three. Belongs into a transaction that
 * holds the revision's claim and wakes the pipeline.
 * @param previous  a revision of the same deployment with draining units; without one, nobody serves it any more
 */
export async function switchBack(
  tx: Db,
  { deploymentId, failed, previous }: { deploymentId: string; failed: string; previous: string | undefined },
): Promise<void> {
  await stopRevision(tx, failed)
  if (previous !== undefined) await serveWith(tx, deploymentId, previous)
  await setActiveRevision(tx, deploymentId, previous ?? null)
}
