/**
 * Removes a deployment step by step: its address first, then what runs, then what is stored, its row last. Each step
 * is fine twice, so a killed control plane goes on where it was.
 */
import { join } from "node:path"
import { dropDatabase } from "@superstep/toolkit/db/provision"
import { removeArtifact } from "../builders/publish.js"
import { removeTree } from "../files/remove-tree.js"
import { removeArchivesOf } from "../uploads/operations.js"
import { artifactsOf } from "./artifact-queries.js"
import type { PipelineContext } from "./context.js"
import { syncEdge } from "./edge-table.js"
import {
  type CarriedDeployment,
  endPipelineOf,
  removeDeployment,
  revisionIdsOf,
  setDeploymentStatus,
  stopUnitsOf,
  unitsOfDeployment,
} from "./queries.js"
import { stopBuilds } from "./stop-builds.js"

export async function deleteNext(context: PipelineContext, deployment: CarriedDeployment): Promise<void> {
  const { db, folders, crashPoint, log } = context
  const { deployment_id: id, database_name: database } = deployment
  await endPipelineOf(db, id)
  // A build that went on would publish an artefact that nobody knows of.
  await stopBuilds(folders, await revisionIdsOf(db, id))
  await syncEdge(context)
  crashPoint("delete:after-route")
  await stopUnitsOf(db, id)
  // The watch over units ends them, one at a time and nobody else; the last one that is gone wakes us.
  if ((await unitsOfDeployment(db, id)).length > 0) return
  await setDeploymentStatus(db, id, "AWAITING_FINAL_DELETE")
  crashPoint("delete:after-units")
  if (database !== null) await dropDatabase({ adminUri: db.uri, name: database })
  crashPoint("delete:after-database")
  for (const { artifact_id } of await artifactsOf(db, id)) await removeArtifact(join(folders.artifacts, artifact_id))
  await removeTree(join(folders.cache, id))
  await removeArchivesOf(db, folders.uploads, id)
  crashPoint("delete:after-files")
  await db.transaction((tx) => removeDeployment(tx, id))
  log.info({ deployment_id: id }, "deployment removed")
}
