/**
 * Deletes a deployment step by step: first its route, then its processes, then its data, last its row. Each step may be
 * repeated, so a restarted control plane continues where it was killed.
 */
import { dropDatabase } from "@superstep/toolkit/db/provision"
import type { CarriedDeployment } from "../deployments/carried-queries.js"
import { removeDeployment, setDeploymentStatus } from "../deployments/carried-queries.js"
import { isHeldByListener } from "../listeners/exchange/report-queries.js"
import type { PipelineContext } from "../planner/context.js"
import { unitsOfDeployment } from "../planner/queries.js"
import { artifactsOf } from "../revisions/artifact-queries.js"
import { endPipelineOf } from "../revisions/queries.js"
import { revisionIdsOf } from "./queries.js"

export async function deleteNext(context: PipelineContext, deployment: CarriedDeployment): Promise<void> {
  const { db, machine, crashPoint, log } = context
  const { deployment_id: id, database_name: database } = deployment
  // An older release only marked the deployment.
  await endPipelineOf(db, id)
  // A build that went on would publish an artifact that no row refers to.
  await machine.builds.stop(await revisionIdsOf(db, id))
  await context.routing.publish()
  crashPoint("delete:after-route")
  // Its listener removes units and data, and its report wakes us.
  if (await isHeldByListener(db, id)) return
  // The planner stops the units; the end of the last one wakes us.
  if ((await unitsOfDeployment(db, id)).length > 0) return
  await setDeploymentStatus(db, id, "AWAITING_FINAL_DELETE")
  crashPoint("delete:after-units")
  if (database !== null) await (context.network?.dropDatabase ?? dropDatabase)({ adminUri: db.uri, name: database })
  crashPoint("delete:after-database")
  for (const { artifact_id } of await artifactsOf(db, id)) await machine.artifacts.remove(artifact_id)
  await machine.artifacts.removeCache(id)
  crashPoint("delete:after-files")
  await db.transaction((tx) => removeDeployment(tx, id))
  log.info({ deployment_id: id }, "deployment removed")
}
