/** The only place where a deployment's wanted state changes and a revision is created for it. */
import type { Db } from "@superstep/toolkit/db/database"
import { recordChanged } from "../audit/current-write.js"
import { addRevision } from "../revisions/operations.js"
import type { Trigger } from "../revisions/revision.js"
import type { Source, SourceConfig } from "../revisions/source-config.js"
import type { SourceRevisionConfig } from "../revisions/source-revision-config.js"
import { replaceSecrets } from "../secrets/operations.js"
import type { MasterKey } from "../secrets/seal.js"
import { type SecretValue, secretMask } from "../secrets/secret.js"
import { type DeploymentRow, deploymentById, updateDesired } from "./queries.js"

export interface Change {
  readonly sourceConfig?: SourceConfig
  readonly sourceRevisionConfig?: SourceRevisionConfig
  /** Null removes it. */
  readonly displayName?: string | null | undefined
  /** The whole set, in which the mask keeps a value; an empty one removes all. */
  readonly secrets?: readonly SecretValue[] | undefined
  /** A version of the secrets that an earlier revision pins; replaces `secrets`. */
  readonly secretsVersion?: number
  readonly source?: Source
  /** Why a revision is created; without it, none is. */
  readonly trigger?: Trigger
  /** The caller, such as `api_key:<id>`; undefined for the platform itself. */
  readonly actor?: string | undefined
  /** What the new revision is for. */
  readonly message?: string | undefined
  /** The revision that the new one repeats. */
  readonly repeats?: string
}

/**
 * Stores the new wanted state and, if there is a trigger, the revision that carries it out, in one transaction. The caller
 * holds the row (D4). Redeploys, rollbacks and pushes use it too.
 */
export async function applyChange(tx: Db, key: MasterKey, row: DeploymentRow, change: Change): Promise<DeploymentRow> {
  const { workspace_id: workspaceId, deployment_id: deploymentId } = row
  const desired = {
    sourceConfig: change.sourceConfig ?? row.source_config,
    sourceRevisionConfig: change.sourceRevisionConfig ?? row.source_revision_config,
    secretsVersion: await secretsVersionOf(tx, key, row, change),
  }
  const source = change.source ?? row.latest_source ?? row.source
  const { trigger, actor, message, repeats } = change
  // What served before is not tried out again.
  const weight = repeats === undefined ? (desired.sourceConfig.canary_weight ?? null) : null
  const revision =
    trigger && (await addRevision(tx, { deploymentId, trigger, actor, message, repeats, weight, source, ...desired }))
  await updateDesired(tx, deploymentId, {
    ...desired,
    displayName: change.displayName === undefined ? row.display_name : change.displayName,
    latestRevisionId: revision?.revision_id ?? row.latest_revision_id,
  })
  const changed = await deploymentById(tx, workspaceId, deploymentId)
  if (!changed) throw new Error(`deployment ${deploymentId} was deleted although its row is locked`)
  return changed
}

/** Version 0 has no secrets, and never will. */
async function secretsVersionOf(tx: Db, key: MasterKey, row: DeploymentRow, change: Change): Promise<number> {
  const current = row.secrets_version
  const { secrets, secretsVersion = current } = change
  if (secrets === undefined) return secretsVersion
  recordChanged(changedSecrets(row.secret_names, secrets).map((name) => `secrets.${name}`))
  if (secrets.length === 0) return 0
  const owner = { workspaceId: row.workspace_id, deploymentId: row.deployment_id }
  return replaceSecrets(tx, { key, owner, current, secrets })
}

/** Names of the secrets that are set or removed. */
function changedSecrets(stored: readonly string[], wanted: readonly SecretValue[]): string[] {
  const kept = new Set(wanted.map(({ name }) => name))
  const set = wanted.filter(({ value }) => value !== secretMask).map(({ name }) => name)
  return [...set, ...stored.filter((name) => !kept.has(name))]
}
