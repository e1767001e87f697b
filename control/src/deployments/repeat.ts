/**
 * Repeats an earlier revision as a new one, with its code, down to the commit, its secrets and its resources. Later changes
 * start from it. Settings that create no revision, such as `build_on_push`, stay as they are now.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { namesWhere } from "../revisions/field.js"
import { findRevision } from "../revisions/operations.js"
import { lastGoodRevision, type RevisionRow } from "../revisions/queries.js"
import { sourceConfigFields } from "../revisions/source-config.js"
import { requireKept } from "../secrets/operations.js"
import { applyChange } from "./apply-change.js"
import { type DeploymentIds, holdForChange } from "./hold.js"
import type { DeploymentRules } from "./operations.js"
import type { DeploymentRow } from "./queries.js"
import { requireRoom } from "./room.js"

interface Asked {
  readonly expectedVersions?: readonly number[] | undefined
  /** The caller, such as `api_key:<id>`. */
  readonly actor?: string | undefined
  /** What the new revision is for; by default, what the repeated one is for. */
  readonly message?: string | undefined
}

/**
 * Creates a new revision from an old one. Reuses its artifact, so nothing is built unless that is gone.
 * @throws NotFound | PreconditionFailed
 * @throws Conflict  it is being deleted, or the revision is so old that its secrets are gone
 */
export async function redeploy(
  tx: Db,
  rules: DeploymentRules,
  ids: DeploymentIds & { readonly revisionId: string },
  asked: Asked,
): Promise<DeploymentRow> {
  const deployment = await holdForChange(tx, ids, asked.expectedVersions)
  const revision = await findRevision(tx, ids)
  return repeat(tx, rules, deployment, { revision, trigger: "redeploy", asked })
}

/**
 * Rolls back to a revision that served: the given one, else the last good one before the one that serves now.
 * @throws NotFound | PreconditionFailed
 * @throws Conflict  there is none to roll back to, or the given one never served or is so old that its secrets are gone
 */
export async function rollBack(
  tx: Db,
  rules: DeploymentRules,
  ids: DeploymentIds,
  asked: Asked & { readonly revisionId?: string | undefined },
): Promise<DeploymentRow> {
  const deployment = await holdForChange(tx, ids, asked.expectedVersions)
  const revision = asked.revisionId
    ? await findRevision(tx, { ...ids, revisionId: asked.revisionId })
    : await lastGoodRevision(tx, ids.workspaceId, ids.deploymentId)
  if (!revision) {
    throw new Conflict("no earlier revision has served: there is nothing to go back to", "nothing_to_roll_back_to")
  }
  if (revision.status !== "DEPLOYED") {
    const words = `Revision ID ${revision.revision_id} is ${revision.status} and never served: name one that is DEPLOYED`
    throw new Conflict(words, "never_served")
  }
  return repeat(tx, rules, deployment, { revision, trigger: "rollback", asked })
}

async function repeat(
  tx: Db,
  rules: DeploymentRules,
  deployment: DeploymentRow,
  { revision, trigger, asked }: { revision: RevisionRow; trigger: "redeploy" | "rollback"; asked: Asked },
): Promise<DeploymentRow> {
  await requireKept(tx, revision)
  const config = revision.source_revision_config
  const { workspace_id: workspaceId, source_config: current } = deployment
  const own = ownSettings.map((name) => [name, revision.source_config[name] ?? null])
  const sourceConfig = { ...current, ...Object.fromEntries(own) }
  await requireRoom(tx, rules, { workspaceId, wanted: sourceConfig, current })
  return applyChange(tx, rules.key, deployment, {
    source: revision.source,
    sourceConfig,
    sourceRevisionConfig: { ...config, repo_commit_sha: revision.commit_sha ?? config.repo_commit_sha },
    secretsVersion: revision.secrets_version,
    repeats: revision.revision_id,
    trigger,
    message: asked.message ?? revision.message ?? undefined,
    actor: asked.actor,
  })
}

/** A revision has its own values of these. */
const ownSettings = namesWhere(sourceConfigFields, ({ revision }) => revision !== "now")
