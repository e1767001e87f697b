/** The one way in which a deployment's wanted state changes and a revision comes of it. */
import type { Db } from "@superstep/toolkit/db/database"
import { addRevision } from "../revisions/operations.js"
import type { SourceRevisionConfig, Trigger } from "../revisions/revision.js"
import { replaceSecrets } from "../secrets/operations.js"
import type { MasterKey } from "../secrets/seal.js"
import type { SecretValue } from "../secrets/secret.js"
import type { Source, SourceConfig } from "./deployment.js"
import { type DeploymentRow, deploymentById, updateDesired } from "./queries.js"

export interface Change {
  readonly sourceConfig?: SourceConfig
  readonly sourceRevisionConfig?: SourceRevisionConfig
  readonly displayName?: string
  readonly secrets?: readonly SecretValue[]
  readonly source?: Source
  /** Why a revision is made; none is without it. */
  readonly trigger?: Trigger
}

/**
 * Writes what is wanted from now on and, if there is a trigger, the revision that carries it out, in one transaction
 * whose caller holds the row (D4). Redeploys, rollbacks and pushes come in here too.
 */
export async function applyChange(tx: Db, key: MasterKey, row: DeploymentRow, change: Change): Promise<DeploymentRow> {
  const { workspace_id: workspaceId, deployment_id: deploymentId } = row
  const owner = { workspaceId, deploymentId }
  const secretsVersion = change.secrets?.length
    ? await replaceSecrets(tx, { key, owner, current: row.secrets_version, secrets: change.secrets })
    : row.secrets_version
  const desired = {
    sourceConfig: change.sourceConfig ?? row.source_config,
    sourceRevisionConfig: change.sourceRevisionConfig ?? row.source_revision_config,
    secretsVersion,
  }
  const source = change.source ?? row.latest_source ?? row.source
  const { trigger } = change
  const revision = trigger && (await addRevision(tx, { deploymentId, trigger, source, ...desired }))
  await updateDesired(tx, deploymentId, {
    ...desired,
    displayName: change.displayName ?? row.display_name,
    latestRevisionId: revision?.revision_id ?? row.latest_revision_id,
  })
  const changed = await deploymentById(tx, workspaceId, deploymentId)
  if (!changed) throw new Error(`deployment ${deploymentId} went away while it was held`)
  return changed
}
