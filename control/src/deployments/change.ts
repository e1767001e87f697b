/** Changes deployments as callers request; each change is one transaction that holds the row (D4). */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, InvalidInput, Refused } from "@superstep/toolkit/errors/errors"
import { interruptRevision } from "../revisions/claims.js"
import { namesWhere } from "../revisions/field.js"
import { findRevision } from "../revisions/operations.js"
import { type SeenRevision, unfinishedRevisions } from "../revisions/queries.js"
import { type DeploymentType, type Source, type SourceConfig, sourceConfigFields } from "../revisions/source-config.js"
import type { SourceRevisionConfig } from "../revisions/source-revision-config.js"
import { useArchive } from "../uploads/operations.js"
import { applyChange, type Change } from "./apply-change.js"
import {
  nextRevisionConfig,
  overlay,
  type Partially,
  setsAnyField,
  settled,
  startsWithARevision,
} from "./deployment.js"
import { type DeploymentIds, holdForChange } from "./hold.js"
import type { DeploymentRules } from "./operations.js"
import type { DeploymentRow } from "./queries.js"
import { type ResourceTier, type ResourceTiers, tierResources } from "./resource-tiers.js"
import { requireRoom } from "./room.js"
import { checkScale, checkSource, checkUnchanged } from "./rules.js"
import { nextSecrets, type SecretChange, type SecretsMode } from "./secret-changes.js"

const unsettableSettings = namesWhere(sourceConfigFields, ({ patch }) => patch === "unset")
const unsettableName = (name: keyof SourceConfig) => `source_config.${name}` as const

/** Fields that can be cleared by name, since null does not clear them (CP-D7). */
export const unsettable = ["display_name" as const, ...unsettableSettings.map(unsettableName)]
export type Unsettable = (typeof unsettable)[number]

/** The fields that every change may have. */
interface WantedState {
  readonly sourceConfig: Partially<SourceConfig>
  readonly sourceRevisionConfig: Partially<SourceRevisionConfig>
  /** Absent: they stay as they are. */
  readonly secrets?: readonly SecretChange[] | undefined
  readonly secretsMode?: SecretsMode | undefined
  /** The source of this revision's code, when it is not the deployment's own source. */
  readonly revisionSource?: Source | undefined
  /** What the new revision is for. */
  readonly message?: string | undefined
  /** The `If-Match` header's versions; undefined when any will do. */
  readonly expectedVersions?: readonly number[] | undefined
  /** The caller, such as `api_key:<id>`. */
  readonly actor?: string | undefined
}

export interface PatchDeployment extends WantedState {
  readonly displayName?: string | undefined
  readonly unset?: readonly Unsettable[] | undefined
}

/**
 * Changes a deployment. A revision is created when its code, secrets or resources change (D2), and exists before this
 * returns: the example client reads the newest revision right after (control-plane §2.1, trap a).
 * @throws NotFound | Conflict | PreconditionFailed | InvalidInput | Refused
 */
export async function patchDeployment(
  tx: Db,
  rules: DeploymentRules,
  ids: DeploymentIds,
  patch: PatchDeployment,
): Promise<DeploymentRow> {
  const deployment = await holdForChange(tx, ids, patch.expectedVersions)
  await useNamedArchive(tx, ids, patch)
  const namesCode = setsAnyField(patch.sourceRevisionConfig)
  const next = await nextState(tx, deployment, rules, patch, namesCode)
  const asksForRevision =
    namesCode || next.secrets !== undefined || setsAnyField({ resource_spec: patch.sourceConfig.resource_spec })
  return applyChange(tx, rules.key, deployment, {
    ...next,
    ...cleared(next, patch),
    ...(asksForRevision && startsWithARevision(next.source, next.sourceRevisionConfig) && { trigger: "patch" }),
  })
}

/** @throws InvalidInput  a field is both set and unset */
function cleared(next: { sourceConfig: SourceConfig }, { displayName, unset = [], sourceConfig }: PatchDeployment) {
  const emptied = unsettableSettings.filter((name) => unset.includes(unsettableName(name)))
  const both = [
    ...(unset.includes("display_name") && displayName !== undefined ? ["display_name"] : []),
    ...emptied.filter((name) => setsAnyField({ name: sourceConfig[name] })).map(unsettableName),
  ]
  if (both.length > 0) {
    const message = `${both.join(", ")} cannot be set and unset at once`
    throw new InvalidInput([{ path: ["body", "unset"], message, type: "value_error" }])
  }
  return {
    displayName: unset.includes("display_name") ? null : displayName,
    sourceConfig: { ...next.sourceConfig, ...Object.fromEntries(emptied.map((name) => [name, null])) },
  }
}

/** What to do about a revision that is in progress: the original refuses; these are the alternatives (CP-D8). */
export const onConflicts = ["queue", "supersede"] as const
export type OnConflict = (typeof onConflicts)[number]

/**
 * Always creates a revision: fields that are not given stay as before, and the branch is resolved again.
 * @throws NotFound | PreconditionFailed | InvalidInput
 * @throws Conflict  one is in progress, whose id is in `conflicting_id`, and the request does not say what to do about it
 * @throws Refused   there is nothing to build yet
 */
export async function createRevision(
  tx: Db,
  rules: DeploymentRules,
  ids: DeploymentIds,
  wanted: WantedState & { readonly onConflict: OnConflict | undefined },
): Promise<SeenRevision> {
  const deployment = await holdForChange(tx, ids, wanted.expectedVersions)
  await useNamedArchive(tx, ids, wanted)
  await resolveConflict(tx, ids, wanted.onConflict)
  const next = await nextState(tx, deployment, rules, wanted, true)
  if (!startsWithARevision(next.source, next.sourceRevisionConfig)) {
    const words = "there is nothing to build yet: send an image_uri or a source_tarball_path"
    throw new Refused(words, "nothing_to_build")
  }
  const changed = await applyChange(tx, rules.key, deployment, { ...next, trigger: "api" })
  return findRevision(tx, { ...ids, revisionId: changed.latest_revision_id ?? "" })
}

async function resolveConflict(tx: Db, ids: DeploymentIds, onConflict: OnConflict | undefined): Promise<void> {
  const unfinished = await unfinishedRevisions(tx, ids.workspaceId, ids.deploymentId)
  const [newest] = unfinished
  if (newest && onConflict === undefined) {
    const words = `Revision ID ${newest.revision_id} is in progress: wait for it, or send ?on_conflict=queue or supersede`
    throw new Conflict(words, "revision_in_progress", { conflicting_id: newest.revision_id })
  }
  if (onConflict !== "supersede") return
  // A revision past the point of no return finishes, and the new one comes after it.
  for (const { revision_id } of unfinished) await interruptRevision(tx, revision_id)
}

/** @throws Refused  no such archive was uploaded for this deployment */
async function useNamedArchive(tx: Db, { deploymentId }: DeploymentIds, wanted: WantedState): Promise<void> {
  const { source_tarball_path: objectPath } = wanted.sourceRevisionConfig
  if (objectPath) await useArchive(tx, deploymentId, objectPath)
}

type NextState = Required<Pick<Change, "source" | "sourceConfig" | "sourceRevisionConfig">> & Change

/** @param namesCode  resolve the branch again */
async function nextState(
  tx: Db,
  deployment: DeploymentRow,
  rules: DeploymentRules,
  wanted: WantedState,
  namesCode: boolean,
): Promise<NextState> {
  checkUnchanged(deployment.source_config, wanted.sourceConfig)
  checkScale(wanted.sourceConfig.resource_spec, deployment.source_config.resource_spec)
  const next = {
    source: sourceOfNext(deployment, wanted),
    sourceConfig: settled(deployment.source, overlay(deployment.source_config, wanted.sourceConfig)),
    sourceRevisionConfig: namesCode
      ? nextRevisionConfig(deployment.source_revision_config, wanted.sourceRevisionConfig)
      : deployment.source_revision_config,
  }
  checkNext(deployment, next, rules)
  const { workspace_id: workspaceId, source_config: current } = deployment
  await requireRoom(tx, rules, { workspaceId, wanted: next.sourceConfig, current })
  const secrets = nextSecrets(deployment.secret_names, { secrets: wanted.secrets, mode: wanted.secretsMode })
  return { ...next, secrets, message: wanted.message, actor: wanted.actor }
}

function checkNext(
  deployment: DeploymentRow,
  next: { source: Source; sourceConfig: SourceConfig; sourceRevisionConfig: SourceRevisionConfig },
  { gitProtocols }: DeploymentRules,
): void {
  if (next.source === deployment.source) {
    // `deployment_type` cannot change here; only a new deployment can be refused for it.
    const sourceConfig = { ...next.sourceConfig, deployment_type: null }
    checkSource(next.source, sourceConfig, next.sourceRevisionConfig, gitProtocols)
  } else if (!startsWithARevision(next.source, next.sourceRevisionConfig)) {
    const message = "requires an image_uri or a source_tarball_path"
    throw new InvalidInput([{ path: ["body", "revision_source"], message, type: "value_error" }])
  }
}

/**
 * An archive is built; a new ref returns to the deployment's repository; anything else keeps the source of the latest revision.
 */
function sourceOfNext(deployment: DeploymentRow, wanted: WantedState): Source {
  if (wanted.revisionSource) return wanted.revisionSource
  if (wanted.sourceRevisionConfig.source_tarball_path) return "internal_source"
  return wanted.sourceRevisionConfig.repo_ref ? deployment.source : (deployment.latest_source ?? deployment.source)
}

/**
 * Merges the presets of a tier into the resources; a revision carries them out.
 * @throws NotFound | Conflict | PreconditionFailed
 */
export async function setResourceTiers(
  tx: Db,
  rules: DeploymentRules & { readonly resourceTiers: ResourceTiers },
  ids: DeploymentIds,
  wanted: {
    readonly computeTier?: ResourceTier | undefined
    readonly databaseTier?: ResourceTier | undefined
    readonly expectedVersions?: readonly number[] | undefined
    readonly actor?: string | undefined
  },
): Promise<DeploymentRow> {
  const deployment = await holdForChange(tx, ids, wanted.expectedVersions)
  const resource_spec = { ...deployment.source_config.resource_spec, ...tierResources(rules.resourceTiers, wanted) }
  return patchDeployment(tx, rules, ids, {
    sourceConfig: { resource_spec },
    sourceRevisionConfig: {},
    actor: wanted.actor,
  })
}

/**
 * Changes the type of a deployment; it creates no revision.
 * @throws NotFound | Conflict | PreconditionFailed
 * @throws Refused  images have no type
 */
export async function setDeploymentType(
  tx: Db,
  rules: DeploymentRules,
  ids: DeploymentIds,
  wanted: { readonly type: DeploymentType; readonly expectedVersions?: readonly number[] | undefined },
): Promise<DeploymentRow> {
  const deployment = await holdForChange(tx, ids, wanted.expectedVersions)
  if (deployment.source === "external_docker") {
    throw new Refused("deployment_type does not apply to external_docker deployments")
  }
  const sourceConfig = { ...deployment.source_config, deployment_type: wanted.type }
  return applyChange(tx, rules.key, deployment, { sourceConfig })
}
