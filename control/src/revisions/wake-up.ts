/** Wakes the pipeline when a transaction commits. A notification is only a nudge: the tables hold the work. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** The payload is the id of the deployment that changed, `routes` when who may call agents has changed, or `superseded`. */
export const pipelineChannel = "superstep_pipeline"

/** There is a new revision to work on, or a deployment to remove. */
export const wakePipeline = async (tx: Db, deploymentId: string): Promise<void> => {
  await tx.run(sql`select pg_notify(${pipelineChannel}, ${deploymentId})`)
}

/** Keys were made or revoked, so the edge's table is out of date. */
export const wakeRoutes = async (tx: Db): Promise<void> => {
  await tx.run(sql`select pg_notify(${pipelineChannel}, 'routes')`)
}
