/** Creates a revision from a pushed commit, found by a webhook or by polling. */
import type { Db } from "@superstep/toolkit/db/database"
import { applyChange } from "../deployments/apply-change.js"
import { nextRevisionConfig } from "../deployments/deployment.js"
import { lockDeployment } from "../deployments/queries.js"
import type { MasterKey } from "../secrets/seal.js"
import { decidePush, follows } from "./decide.js"
import type { Outcome, Push } from "./push.js"
import { type DueBranch, latestRevision, rememberBranch, watchedBranch } from "./queries.js"

export interface KnownPush {
  readonly sha: string
  readonly ref: string
  readonly isWebhook: boolean
  /** Of a webhook: the push, to be decided about again. */
  readonly event?: Push
  /** Of a poll: what was known before the host was asked. */
  readonly knownBefore?: Pick<DueBranch, "sha" | "webhook_at">
  /** When to poll the branch again, in milliseconds; 0: never. */
  readonly lookInMs: number
}

/** Remembers the commit of a branch, whether it is built or not. */
export const knowPush = (
  tx: Db,
  { deployment_id: deploymentId }: { deployment_id: string },
  { lookInMs, ref, sha, isWebhook }: KnownPush,
): Promise<number> => rememberBranch(tx, { deploymentId, ref, sha, isWebhook, lookInMs: lookInMs || neverMs })

// Without polling, a date far away keeps the row out of the queue.
const neverMs = 100 * 365 * 86_400_000

/**
 * Adds a revision for a commit, unless it is the last one seen on this branch (H5): a webhook and a poll may both report the
 * same push. What the caller has read of the deployment may have changed since, so it decides again on the locked row. Call it in a transaction, which holds the deployment's row from here on.
 * @param push  its commit is stored in the revision: the branch may have moved on when it is built
 */
export async function buildPush(
  tx: Db,
  key: MasterKey,
  { workspace_id: workspaceId, deployment_id: deploymentId }: { workspace_id: string; deployment_id: string },
  push: KnownPush,
): Promise<Pick<Outcome, "result" | "detail" | "revision_id">> {
  const { sha, ref, isWebhook, knownBefore, event } = push
  const row = await lockDeployment(tx, workspaceId, deploymentId)
  const now = row && { source_config: row.source_config, repo_ref: row.source_revision_config.repo_ref }
  if (!now || row.delete_requested_at || !follows(now, ref))
    return { result: "ignored", detail: "the deployment was changed in the meantime", revision_id: null }
  const decision = event && decidePush(now, event)
  if (decision && "ignored" in decision) {
    await knowPush(tx, row, push)
    return { result: "ignored", detail: decision.ignored, revision_id: null }
  }
  const latest = await latestRevision(tx, deploymentId)
  // That revision is about to resolve the branch: the commit it finds must not be built a second time.
  if (!isWebhook && latest?.is_open && latest.sha === null) {
    return {
      result: "ignored",
      detail: "the latest revision will build the newest commit of the branch",
      revision_id: null,
    }
  }
  const seen = await watchedBranch(tx, deploymentId)
  // The host may have been asked before that push. The next poll finds what is newer.
  const isOvertaken =
    knownBefore && ((seen?.webhook_at ?? null) !== knownBefore.webhook_at || (seen?.sha ?? null) !== knownBefore.sha)
  if (isOvertaken)
    return { result: "ignored", detail: "another commit became known since the host was asked", revision_id: null }
  await knowPush(tx, row, push)
  const isLatest = latest?.sha === sha
  if (isLatest || (seen?.ref === ref && seen.sha === sha)) {
    const detail = `${sha} of ${ref} was handled before`
    return { result: "ignored", detail, revision_id: isLatest ? row.latest_revision_id : null }
  }
  const sourceRevisionConfig = nextRevisionConfig(row.source_revision_config, {
    repo_ref: row.source_revision_config.repo_ref,
    repo_commit_sha: sha,
  })
  const changed = await applyChange(tx, key, row, { source: row.source, sourceRevisionConfig, trigger: "push" })
  return { result: "accepted", detail: `building ${sha} of ${ref}`, revision_id: changed.latest_revision_id }
}
