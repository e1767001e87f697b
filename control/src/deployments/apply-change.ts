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
  /** Null takes it away. */
  readonly displayName?: string | null
  /** The whole set, in which the mask keeps a value; an empty one takes all away. */
  readonly secrets?: readonly SecretValue[]
  /** A version of the secrets that an earlier revision pins, in place of `secrets`. */
  readonly secretsVersion?: number
  readonly source?: Source
  /** Why a revision is made; none is without it. */
  readonly trigger?: Trigger
  /** Who asks for it, such as `api_key:<id>`; the platform itself when nobody is named. */
  readonly actor?: string
  /** The revision that the new one repeats. */
  readonly repeats?: string
}

/**
 * Writes what is wanted from now on and, if there is a trigger, the revision that carries it out, in one transaction
 * whose caller holds the row (D4). Redeploys, rollbacks and pushes come in here too.
 */
export async function applyChange(tx: Db, key: MasterKey, row: DeploymentRow, change: Change): Promise<DeploymentRow> {
  const { workspace_id: workspaceId, deployment_id: deploymentId } = row
  const desired = {
    sourceConfig: change.sourceConfig ?? row.source_config,
    sourceRevisionConfig: change.sourceRevisionConfig ?? row.source_revision_config,
    secretsVersion: await secretsVersionOf(tx, key, row, change),
  }
  const source = change.source ?? row.latest_source ?? row.source
  const { trigger, actor, repeats } = change
  const revision = trigger && (await addRevision(tx, { deploymentId, trigger, actor, repeats, source, ...desired }))
  await updateDesired(tx, deploymentId, {
    ...desired,
    displayName: change.displayName === undefined ? row.display_name : change.displayName,
    latestRevisionId: revision?.revision_id ?? row.latest_revision_id,
  })
  const changed = await deploymentById(tx, workspaceId, deploymentId)
  if (!changed) throw new Error(`deployment ${deploymentId} went away while it was held`)
  return changed
}

/** The version 0 has no secrets, and never will. */
async function secretsVersionOf(tx: Db, key: MasterKey, row: DeploymentRow, change: Change): Promise<number> {
  const current = row.secrets_version
  const { secrets, secretsVersion = current } = change
  if (secrets === undefined) return secretsVersion
  if (secrets.length === 0) return 0
  const owner = { workspaceId: row.workspace_id, deploymentId: row.deployment_id }
  return replaceSecrets(tx, { key, owner, current, secrets })
}
