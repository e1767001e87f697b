/**
 * Brings previews in line with their pull requests. Each function is the work of one transaction that first locks the
 * parent's row, so two events of one pull request are never handled at the same time. A preview has its own database and
 * only the secrets of the preview set (W1); code of a fork needs approval, commit by commit (W2).
 */

import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, InvalidInput, NotFound, Refused } from "@superstep/toolkit/errors/errors"
import { storableText } from "@superstep/toolkit/text/storable"
import { v7 as newId } from "uuid"
import { applyChange } from "../deployments/apply-change.js"
import { type DeploymentIds, holdForChange } from "../deployments/hold.js"
import { createDeployment, type DeploymentRules, deleteDeployment } from "../deployments/operations.js"
import { type DeploymentRow, lockDeployment, markAsPreview } from "../deployments/queries.js"
import { requireRoom } from "../deployments/room.js"
import { watchedRef } from "../pushes/decide.js"
import type { Outcome, PullRequestEvent } from "../pushes/push.js"
import type { GitDeployment } from "../pushes/queries.js"
import { repositoryKey } from "../pushes/repository-key.js"
import { copyFor } from "../revisions/field.js"
import { refProblem } from "../revisions/repository.js"
import { sourceConfigFields } from "../revisions/source-config.js"
import { sourceRevisionConfigFields } from "../revisions/source-revision-config.js"
import { type MasterKey, open, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { isReserved, repeatedNames, type SecretValue, secretMask } from "../secrets/secret.js"
import { lockWorkspace } from "../workspaces/queries.js"
import { isOpen, nextStep, type Preview, type PreviewSettings, previewName } from "./preview.js"
import {
  approveCommit,
  countOthers,
  previewById,
  previewOfPull,
  previewSecrets,
  replacePreviewSecrets,
  type SettingsRow,
  setPreviewState,
  settingsOf,
  storePreview,
  storeSettings,
} from "./queries.js"

/**
 * Sets whether and how a deployment's pull requests are previewed; the mask as a secret's value keeps the stored one.
 * @throws NotFound | Conflict | InvalidInput
 * @throws Refused  it is not built from git, or is a preview itself; or a secret has a reserved name
 */
export async function setPreviews(
  tx: Db,
  key: MasterKey,
  ids: DeploymentIds,
  { settings, secrets }: { settings: PreviewSettings; secrets: readonly SecretValue[] | undefined },
): Promise<SettingsRow> {
  const parent = await holdForChange(tx, ids)
  if (parent.source !== "github") throw new Refused("only deployments from git repositories have previews")
  if (parent.is_preview) throw new Refused("a preview cannot have previews")
  await storeSettings(tx, ids.deploymentId, settings)
  if (secrets) await replacePreviewSecrets(tx, ids.deploymentId, await sealedSet(tx, key, ids, secrets))
  const row = await settingsOf(tx, ids.workspaceId, ids.deploymentId)
  if (!row) throw new Error("the settings of previews were not stored")
  return row
}

async function sealedSet(tx: Db, key: MasterKey, ids: DeploymentIds, secrets: readonly SecretValue[]) {
  const reserved = secrets.map(({ name }) => name).filter(isReserved)
  if (reserved.length > 0) {
    throw new Refused(`the platform itself sets ${reserved.join(", ")}: remove it from secrets`, "reserved_name")
  }
  const problems = repeatedNames(secrets)
  if (problems.length > 0) throw new InvalidInput(problems)
  const stored = new Map((await previewSecrets(tx, ids.deploymentId)).map((it) => [it.name, it.value_sealed]))
  return secrets.map(({ name, value }, index) => {
    if (value !== secretMask) return { name, value_sealed: seal(key, value, contextOf.previewSecret(ids, name)) }
    const kept = stored.get(name)
    if (kept) return { name, value_sealed: kept }
    const path = ["body", "secrets", index, "value"]
    throw new InvalidInput([
      { path, message: `the mask keeps the stored value, but ${name} has none: send its value`, type: "value_error" },
    ])
  })
}

/**
 * Applies a pull request's event to each deployment of its repository, in the order of their ids. All of them, and their previews of it, are
 * locked before the lock of the names is taken: a transaction that holds one of them may be about to wait for that lock.
 */
export async function takePullRequest(
  tx: Db,
  rules: DeploymentRules,
  deployments: readonly GitDeployment[],
  event: PullRequestEvent,
): Promise<Outcome[]> {
  for (const it of deployments) await lockDeployment(tx, it.workspace_id, it.deployment_id)
  for (const it of deployments) {
    const preview = await previewOfPull(tx, it.deployment_id, event.number)
    if (preview?.deployment_id) await lockDeployment(tx, it.workspace_id, preview.deployment_id)
  }
  const outcomes: Outcome[] = []
  for (const it of deployments) outcomes.push(await takeFor(tx, rules, it, event))
  return outcomes
}

async function takeFor(
  tx: Db,
  rules: DeploymentRules,
  { workspace_id: workspaceId, deployment_id: deploymentId, name }: GitDeployment,
  event: PullRequestEvent,
): Promise<Outcome> {
  const ignored = (detail: string): Outcome => ({
    deployment_id: deploymentId,
    name,
    result: "ignored",
    detail,
    revision_id: null,
  })
  const parent = await lockDeployment(tx, workspaceId, deploymentId)
  if (!parent || parent.delete_requested_at) return ignored("the deployment is being deleted")
  const settings = await settingsOf(tx, workspaceId, deploymentId)
  if (!settings?.is_enabled) return ignored("previews are disabled for the deployment")
  if (event.action === "closed") {
    const preview = await previewOfPull(tx, deploymentId, event.number)
    if (!preview || !isOpen(preview.state)) return ignored("the pull request has no preview")
    await endPreview(tx, preview, { state: "closed", reason: "the pull request was closed" })
    return accepted(parent, "the preview is removed", null)
  }
  const base = watchedRef(parent.source_revision_config.repo_ref)
  if (base !== `refs/heads/${event.baseBranch}`)
    return ignored(`the deployment follows ${base}, but the pull request is to ${event.baseBranch}`)
  const isApproval = event.isFork && event.labels.includes(settings.approve_label)
  if (event.action === "labeled" && !isApproval) return ignored("the label does not approve a preview")
  return advancePreview(tx, rules, { parent, settings, event, isApproval })
}

const accepted = (parent: DeploymentRow, detail: string, revisionId: string | null): Outcome => ({
  deployment_id: parent.deployment_id,
  name: parent.name,
  result: "accepted",
  detail,
  revision_id: revisionId,
})

async function advancePreview(
  tx: Db,
  rules: DeploymentRules,
  it: { parent: DeploymentRow; settings: SettingsRow; event: PullRequestEvent; isApproval: boolean },
): Promise<Outcome> {
  const { parent, settings, event } = it
  const isUsable = event.headRef !== undefined && refProblem(event.headRef) === undefined
  const stored = await storePreview(tx, {
    previewId: newId(),
    workspaceId: parent.workspace_id,
    parentId: parent.deployment_id,
    repository: repositoryKey(parent.source_config.repo_url ?? "") ?? "",
    number: event.number,
    title: storableText(event.title, 255),
    isFork: event.isFork,
    headRef: isUsable ? (event.headRef ?? null) : null,
    headSha: event.headSha ?? null,
    ttlDays: settings.ttl_days,
  })
  if (!stored) throw new Error("the preview was not stored")
  // A label from before does not approve a newer commit: the label that was added now may be another one.
  const mayApprove =
    it.isApproval && event.headSha !== undefined && (!event.areLabelsAll || stored.approved_sha === null)
  const preview = mayApprove ? ((await approveCommit(tx, stored.preview_id, event.headSha)) ?? stored) : stored
  const { detail, revisionId } = await deployPreview(tx, rules, { parent, settings, preview })
  return accepted(parent, detail, revisionId)
}

/** Does the next step for an open pull request; the caller holds the parent's row. */
async function deployPreview(
  tx: Db,
  rules: DeploymentRules,
  { parent, settings, preview }: { parent: DeploymentRow; settings: SettingsRow; preview: Preview },
): Promise<{ detail: string; revisionId: string | null }> {
  const own = preview.deployment_id && (await lockDeployment(tx, preview.workspace_id, preview.deployment_id))
  // Also protects the limit, which applies to all deployments of the repository. After the deployment, as every change of one locks them.
  await lockWorkspace(tx, preview.workspace_id)
  const existing = own && !own.delete_requested_at ? own : undefined
  const others = await countOthers(tx, preview)
  const step = nextStep(preview, { others, hasDeployment: existing !== undefined, settings })
  if (step.kind === "hold") {
    // The commit that was approved before stays deployed while its successor waits.
    const deploymentId = existing?.deployment_id ?? null
    await setPreviewState(tx, preview.preview_id, { state: step.state, reason: step.reason, deploymentId })
    return { detail: step.reason, revisionId: null }
  }
  try {
    const deployment = await deployedAt(tx, rules, { parent, preview, existing })
    const deploymentId = deployment.deployment_id
    await setPreviewState(tx, preview.preview_id, { state: "active", reason: null, deploymentId })
    return {
      detail: `${deployment.name} is being built from the pull request`,
      revisionId: deployment.latest_revision_id,
    }
  } catch (error) {
    // Its name is taken by an ordinary deployment, or the workspace is full: nothing was written, so the transaction goes on.
    if (!(error instanceof Conflict)) throw error
    await setPreviewState(tx, preview.preview_id, {
      state: "failed",
      reason: error.message,
      deploymentId: existing?.deployment_id ?? null,
    })
    return { detail: error.message, revisionId: null }
  }
}

async function deployedAt(
  tx: Db,
  rules: DeploymentRules,
  { parent, preview, existing }: { parent: DeploymentRow; preview: Preview; existing: DeploymentRow | undefined },
): Promise<DeploymentRow> {
  const ids = { workspaceId: parent.workspace_id, deploymentId: parent.deployment_id }
  const secrets = (await previewSecrets(tx, ids.deploymentId)).map(({ name, value_sealed }) => ({
    name,
    value: open(rules.key, value_sealed, contextOf.previewSecret(ids, name)),
  }))
  const sourceConfig = copyFor("preview", sourceConfigFields, parent.source_config, {})
  const pulled = { repo_ref: preview.head_ref, repo_commit_sha: preview.head_sha }
  const sourceRevisionConfig = copyFor("preview", sourceRevisionConfigFields, parent.source_revision_config, pulled)
  if (existing) {
    const isThere = preview.head_sha !== null && existing.source_revision_config.repo_commit_sha === preview.head_sha
    if (isThere) return existing
    const { workspace_id: workspaceId, source_config: current } = existing
    await requireRoom(tx, rules, { workspaceId, wanted: sourceConfig, current })
    return applyChange(tx, rules.key, existing, { sourceConfig, sourceRevisionConfig, secrets, trigger: "preview" })
  }
  const name = previewName(parent.name, preview.number)
  const created = await createDeployment(tx, rules, ids.workspaceId, {
    name,
    source: parent.source,
    sourceConfig,
    sourceRevisionConfig,
    secrets,
  })
  await markAsPreview(tx, created.deployment_id)
  return created
}

/** Deletes a preview's deployment with everything it has. */
async function endPreview(
  tx: Db,
  preview: Preview,
  { state, reason }: { state: "closed" | "expired"; reason: string },
): Promise<void> {
  const { workspace_id: workspaceId, deployment_id: deploymentId } = preview
  const own = deploymentId && (await lockDeployment(tx, workspaceId, deploymentId))
  if (own && !own.delete_requested_at) {
    await deleteDeployment(tx, { workspaceId, deploymentId: own.deployment_id }, { force: false })
  }
  await setPreviewState(tx, preview.preview_id, { state, reason, deploymentId: null })
}

const previewNotFound = (previewId: string) => new NotFound(`Preview ID ${previewId} not found.`)

/** @throws NotFound */
async function findPreview(db: Db, workspaceId: string, previewId: string): Promise<Preview> {
  const preview = await previewById(db, workspaceId, previewId)
  if (!preview) throw previewNotFound(previewId)
  return preview
}

/** @throws NotFound */
export async function findSettings(db: Db, ids: DeploymentIds): Promise<SettingsRow> {
  const row = await settingsOf(db, ids.workspaceId, ids.deploymentId)
  if (!row) throw new NotFound(`Deployment ID ${ids.deploymentId} has no previews.`)
  return row
}

/**
 * Approves the newest commit of a pull request.
 * @param sha  the commit that was reviewed; undefined: whatever is newest now
 * @throws NotFound
 * @throws Conflict  the pull request is closed, or has a newer commit
 */
export async function approvePreview(
  tx: Db,
  rules: DeploymentRules,
  { workspaceId, previewId, sha }: { workspaceId: string; previewId: string; sha: string | undefined },
): Promise<Preview> {
  const { parent_id: parentId } = await findPreview(tx, workspaceId, previewId)
  const parent = parentId && (await lockDeployment(tx, workspaceId, parentId))
  const preview = await findPreview(tx, workspaceId, previewId)
  const settings = parentId && (await settingsOf(tx, workspaceId, parentId))
  if (!parent || parent.delete_requested_at || !settings || !isOpen(preview.state) || preview.head_sha === null) {
    throw new Conflict(`Preview ID ${previewId} is ${preview.state}: there is nothing to approve`, "not_open")
  }
  if (sha !== undefined && sha !== preview.head_sha) {
    throw new Conflict(
      `The newest commit of the pull request is ${preview.head_sha}: review it, then approve it`,
      "moved_on",
    )
  }
  const approved = (await approveCommit(tx, previewId, preview.head_sha)) ?? preview
  await deployPreview(tx, rules, { parent, settings, preview: approved })
  return findPreview(tx, workspaceId, previewId)
}

/** @throws NotFound */
export async function closePreview(tx: Db, workspaceId: string, previewId: string): Promise<void> {
  const { parent_id: parentId } = await findPreview(tx, workspaceId, previewId)
  if (parentId) await lockDeployment(tx, workspaceId, parentId)
  await endPreview(tx, await findPreview(tx, workspaceId, previewId), { state: "closed", reason: "removed on request" })
}

/** Updates one preview whose time has run out, whose parent has changed, or which waits for room. */
export async function reconcilePreview(tx: Db, rules: DeploymentRules, found: Preview): Promise<void> {
  const { workspace_id: workspaceId, preview_id: previewId, parent_id: parentId } = found
  const parent = parentId && (await lockDeployment(tx, workspaceId, parentId))
  const preview = await previewById(tx, workspaceId, previewId)
  if (!preview || !isOpen(preview.state)) return
  const settings = parentId && (await settingsOf(tx, workspaceId, parentId))
  if (!parent || parent.delete_requested_at || !settings || !settings.is_enabled) {
    return endPreview(tx, preview, { state: "closed", reason: "previews were disabled for its deployment" })
  }
  if (preview.expires_at <= new Date()) {
    const reason = `no push for ${settings.ttl_days} days`
    return endPreview(tx, preview, { state: "expired", reason })
  }
  if (preview.state === "active") {
    const own = preview.deployment_id && (await lockDeployment(tx, workspaceId, preview.deployment_id))
    if (!own || own.delete_requested_at)
      await endPreview(tx, preview, { state: "closed", reason: "its deployment was deleted" })
    return
  }
  await deployPreview(tx, rules, { parent, settings, preview })
}
