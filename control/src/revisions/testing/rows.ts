/** Deployments and revisions for tests that need only their rows. */
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { v7 as newId } from "uuid"
import { addArtifact } from "../artifact-queries.js"
import type { RevisionStatus, Stage, Trigger } from "../revision.js"

export async function addWorkspace(db: Database): Promise<string> {
  const workspaceId = newId()
  await db.run(sql`insert into workspaces (workspace_id, name) values (${workspaceId}, ${workspaceId})`)
  return workspaceId
}

/** @param workspace  default a new one */
export async function addDeployment(db: Database, workspace?: string): Promise<string> {
  const [workspaceId, deploymentId] = [workspace ?? (await addWorkspace(db)), newId()]
  await db.run(sql`
    insert into deployments (deployment_id, workspace_id, name, route_name, source, source_config,
      source_revision_config, status)
    values (${deploymentId}, ${workspaceId}, ${deploymentId}, ${deploymentId}, 'github', '{}', '{}', 'READY')`)
  return deploymentId
}

/** @param lacksSchemas  it is still to be asked for the schemas of its graphs */
export const addArtifactRow = (db: Database, deploymentId: string, artifactId: string, lacksSchemas = false) =>
  addArtifact(db, { artifactId, deploymentId, platform: "p", graphs: [], langgraphVersion: null, lacksSchemas })

export async function addRevision(
  db: Database,
  deploymentId: string,
  it: { status?: RevisionStatus; stage?: Stage | null; trigger?: Trigger } = {},
): Promise<string> {
  const { status = "QUEUED", stage = "queue", trigger = "patch" } = it
  const row = await db.row<{ revision_id: string }>(sql`
    insert into revisions (revision_id, deployment_id, seq, status, stage, trigger, source, source_config,
      source_revision_config, secrets_version)
    select ${newId()}, ${deploymentId}, count(*) + 1, ${status}, ${stage}, ${trigger}, 'github', '{}', '{}', 0
    from revisions where deployment_id = ${deploymentId} returning revision_id`)
  return row?.revision_id ?? ""
}
