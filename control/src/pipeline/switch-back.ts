/** The way back from a switch. */
import type { Db } from "@superstep/toolkit/db/database"
import { serveWith, setActiveRevision, setUnitState, type UnitRow } from "./queries.js"

/**
 * Ends a unit that serves, and gives its requests and runs back to the one that served before. That one should run, be
 * in the edge's table and be active from now on, so the reconciler sees to all three. Belongs into a transaction that
 * holds the revision's claim and wakes the pipeline.
 * @param previous  a draining unit of the same deployment; without one, nobody serves it any more
 */
export async function switchBack(tx: Db, failed: UnitRow, previous: UnitRow | undefined): Promise<void> {
  await setUnitState(tx, failed.unit_id, "stopping")
  if (previous) await serveWith(tx, previous.deployment_id, previous.unit_id)
  await setActiveRevision(tx, failed.deployment_id, previous?.revision_id ?? null)
}
