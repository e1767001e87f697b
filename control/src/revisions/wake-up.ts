/** Wakes the pipeline when a transaction commits. A notification is only a hint: the work is in the tables. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** The payload is the id of the changed deployment, `routes` when the rights to call agents have changed, or `superseded`. */
export const pipelineChannel = "superstep_pipeline"

/** There is a new revision to work on, or a deployment to delete. */
export const wakePipeline = async (tx: Db, deploymentId: string): Promise<void> => {
  await tx.run(sql`select pg_notify(${pipelineChannel}, ${deploymentId})`)
}

/** Keys were created or revoked, so the edge's table is out of date. */
export const wakeRoutes = async (tx: Db): Promise<void> => {
  await tx.run(sql`select pg_notify(${pipelineChannel}, 'routes')`)
}
