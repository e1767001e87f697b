/** From a commit that was pushed to a revision: the same for webhooks and for what is found by looking. */
import type { Db } from "@superstep/toolkit/db/database"
import { applyChange } from "../deployments/apply-change.js"
import { nextRevisionConfig } from "../deployments/deployment.js"
import { lockDeployment } from "../deployments/queries.js"
import type { MasterKey } from "../secrets/seal.js"
import { watchedRef } from "./decide.js"
import type { Outcome } from "./push.js"
import { latestRevision, rememberBranch, watchedBranch } from "./queries.js"

export interface KnownPush {
  readonly sha: string
  readonly ref: string
  readonly isWebhook: boolean
  /** When to look at the branch again, in milliseconds; 0: never. */
  readonly lookInMs: number
}

/** Remembers that a branch is at a commit, whether that is built or not. */
export const knowPush = (
  tx: Db,
  { deployment_id: deploymentId }: { deployment_id: string },
  { lookInMs, ...push }: KnownPush,
): Promise<number> => rememberBranch(tx, { deploymentId, ...push, lookInMs: lookInMs || neverMs })

// Where nobody looks, a date far away keeps the row out of the way.
const neverMs = 100 * 365 * 86_400_000

/**
 * Adds a revision for a commit, unless it is the one that this branch was last seen at (H5): a webhook and a look may
 * tell of the same push. Belongs into a transaction, which holds the deployment's row from here on.
 * @param push  whose commit is frozen in the revision: the branch may have moved on when it is built
 */
export async function buildPush(
  tx: Db,
  key: MasterKey,
  { workspace_id: workspaceId, deployment_id: deploymentId }: { workspace_id: string; deployment_id: string },
  push: KnownPush,
): Promise<Pick<Outcome, "result" | "detail" | "revision_id">> {
  const { sha, ref, isWebhook } = push
  const row = await lockDeployment(tx, workspaceId, deploymentId)
  const isWanted = row && !row.delete_requested_at && watchedRef(row.source_revision_config.repo_ref) === ref
  if (!isWanted) return { result: "ignored", detail: "the deployment has just changed", revision_id: null }
  const latest = await latestRevision(tx, deploymentId)
  // It is about to find out where the branch is: what it finds is not to be built a second time.
  if (!isWebhook && latest?.is_open && latest.sha === null) {
    return { result: "ignored", detail: "the latest revision takes the newest commit", revision_id: null }
  }
  const seen = await watchedBranch(tx, deploymentId)
  await knowPush(tx, row, push)
  const isLatest = latest?.sha === sha
  if (isLatest || (seen?.ref === ref && seen.sha === sha)) {
    const detail = `${sha} of ${ref} is known already`
    return { result: "ignored", detail, revision_id: isLatest ? row.latest_revision_id : null }
  }
  const sourceRevisionConfig = nextRevisionConfig(row.source_revision_config, {
    repo_ref: row.source_revision_config.repo_ref,
    repo_commit_sha: sha,
  })
  const changed = await applyChange(tx, key, row, { source: row.source, sourceRevisionConfig, trigger: "push" })
  return { result: "accepted", detail: `builds ${sha} of ${ref}`, revision_id: changed.latest_revision_id }
}
