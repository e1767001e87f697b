/**
 * Writes what the control plane wants into this installation's database, under the same ids: from there on, the pipeline and the
 * planner carry it out as anything else (L7). Each deployment is one transaction; the same may be written again.
 */
import type { Callers, WantedDeployment, WantedRevision } from "@superstep/protocol/listener/messages"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { setWantedRun } from "../../deployments/carried-queries.js"
import { beginDeletion, takeName } from "../../deployments/operations.js"
import { updateDesired } from "../../deployments/queries.js"
import { saveIntegration } from "../../integrations/queries.js"
import { interruptRevision } from "../../revisions/claims.js"
import { insertRevision } from "../../revisions/queries.js"
import { wakePipeline, wakeRoutes } from "../../revisions/wake-up.js"
import { insertSecrets, isKept } from "../../secrets/queries.js"
import { type MasterKey, seal } from "../../secrets/seal.js"
import { contextOf } from "../../secrets/sealed-columns.js"
import { addWorkspace, replaceCallers, workspaceById } from "../../workspaces/queries.js"
import { isOwn, mirrorName } from "../../workspaces/workspace.js"
import { fetchArchive, missingArchives } from "./archives.js"
import type { CentralCalls } from "./central.js"
import { type DeploymentHere, holdHere, revisionsHere, saveMirrored } from "./mirror-queries.js"
import { toAdd, toInterrupt } from "./next-revisions.js"
import { codeHere, settingsHere } from "./settings-here.js"

export interface Mirror {
  readonly db: Database
  readonly key: MasterKey
}

/**
 * The workspace in which the deployments of a control plane's workspace are mirrored. It has the same id, and only the keys
 * that may call its agents.
 * @throws Conflict  it is one of this installation's own
 */
export async function ensureWorkspace(db: Db, workspaceId: string): Promise<void> {
  await addWorkspace(db, workspaceId, mirrorName(workspaceId))
  const workspace = await workspaceById(db, workspaceId)
  if (workspace && !isOwn(workspace)) return
  throw new Conflict("the control plane's workspace is one of this installation: a listener is another installation")
}

/** Lets the keys of the control plane's workspace call the agents, and no others. They have no other rights here. */
export const mirrorCallers = (db: Database, workspaceId: string, { run, read }: Callers): Promise<void> =>
  db.transaction(async (tx) => {
    const keys = (hashes: readonly string[], scope: "run" | "read") =>
      hashes.map((sha256) => ({ id: newId(), sha256, scope }))
    await replaceCallers(tx, workspaceId, [...keys(run, "run"), ...keys(read, "read")])
    await wakeRoutes(tx)
  })

/**
 * Brings one deployment in line with what the control plane wants.
 * @throws Conflict       something of this installation stands in the way
 * @throws CentralFailed  an archive was not received
 */
export async function mirrorDeployment(
  mirror: Mirror,
  calls: CentralCalls,
  workspaceId: string,
  wanted: WantedDeployment,
): Promise<void> {
  const { db } = mirror
  const missing = await missingArchives(db, wanted.revisions)
  if (missing.length > 0) {
    // An archive's row refers to its deployment, and a revision starts when it is there: so the revisions come last.
    await db.transaction((tx) => write(tx, mirror, workspaceId, { ...wanted, revisions: [], version: "" }))
    for (const archive of missing) await fetchArchive(db, calls, wanted.deployment_id, archive)
  }
  await db.transaction((tx) => write(tx, mirror, workspaceId, wanted))
}

async function write(tx: Db, mirror: Mirror, workspaceId: string, wanted: WantedDeployment): Promise<void> {
  const { deployment_id: deploymentId, version } = wanted
  const here = await holdHere(tx, deploymentId)
  if (here && here.workspace_id !== workspaceId) {
    throw new Conflict(`Deployment ID ${deploymentId} belongs to another workspace of this installation`)
  }
  // Before the revisions, whose triggers look here.
  await saveMirrored(tx, { deploymentId, version, isDeleted: wanted.is_deleted })
  if (wanted.is_deleted) {
    if (here && !here.is_deleted) await beginDeletion(tx, deploymentId, "AWAITING_DELETE")
  } else if (here?.is_deleted)
    throw new Conflict("the deployment is being deleted at the listener: it is created again")
  else await bringInLine(tx, mirror, { workspaceId, wanted, here })
  await wakePipeline(tx, deploymentId)
}

async function bringInLine(
  tx: Db,
  { key }: Mirror,
  {
    workspaceId,
    wanted,
    here,
  }: {
    readonly workspaceId: string
    readonly wanted: WantedDeployment
    readonly here: DeploymentHere | undefined
  },
): Promise<void> {
  const { deployment_id: deploymentId, integration } = wanted
  if (integration) {
    const sealed = seal(key, integration.secret, contextOf.integration(workspaceId, integration.integration_id))
    await saveIntegration(tx, workspaceId, { ...integration, sealed })
  }
  const sourceConfig = settingsHere(wanted.source_config)
  const sourceRevisionConfig = codeHere(wanted.source_revision_config)
  const { source } = wanted
  if (!here) {
    const { name } = wanted
    await takeName(tx, {
      deploymentId,
      workspaceId,
      name,
      agent: undefined,
      source,
      sourceConfig,
      sourceRevisionConfig,
    })
  }
  await addSecrets(tx, key, { workspaceId, deploymentId }, wanted.secrets)
  const known = await revisionsHere(tx, deploymentId)
  const added = toAdd(wanted.revisions, known)
  for (const revision of added) await addRevision(tx, deploymentId, revision)
  for (const revisionId of toInterrupt(wanted.revisions, known)) await interruptRevision(tx, revisionId)
  await updateDesired(tx, deploymentId, {
    displayName: wanted.display_name,
    sourceConfig,
    sourceRevisionConfig,
    secretsVersion: wanted.secrets_version,
    latestRevisionId: added.at(-1)?.revision_id ?? here?.latest_revision_id ?? null,
  })
  await setWantedRun(tx, wanted)
}

/** Versions never change, so one that is here is not written again. */
async function addSecrets(
  tx: Db,
  key: MasterKey,
  owner: { readonly workspaceId: string; readonly deploymentId: string },
  secrets: WantedDeployment["secrets"],
): Promise<void> {
  const { deploymentId } = owner
  for (const version of new Set(secrets.map((it) => it.version))) {
    if (await isKept(tx, deploymentId, version)) continue
    const sealed = secrets
      .filter((it) => it.version === version)
      .map(({ name, value }) => ({ name, value_sealed: seal(key, value, contextOf.secret(owner, name, version)) }))
    await insertSecrets(tx, { deploymentId, version, secrets: sealed })
  }
}

const addRevision = async (tx: Db, deploymentId: string, revision: WantedRevision): Promise<void> => {
  await insertRevision(tx, {
    revisionId: revision.revision_id,
    deploymentId,
    trigger: revision.trigger,
    source: revision.source,
    sourceConfig: settingsHere(revision.source_config),
    sourceRevisionConfig: codeHere(revision.source_revision_config),
    secretsVersion: revision.secrets_version,
    weight: null,
    actor: revision.actor ?? undefined,
    repeats: revision.repeats_revision_id ?? undefined,
    message: revision.message ?? undefined,
  })
}
