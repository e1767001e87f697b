/** What a listener should carry out: its own deployments, with everything that they need there, and nothing else (L5). */
import { createHash } from "node:crypto"
import { mostInReply } from "@superstep/protocol/listener/calls"
import type {
  WantedDeployment,
  WantedIntegration,
  WantedRevision,
  WantedSecret,
  WorkReply,
  WorkRequest,
} from "@superstep/protocol/listener/messages"
import type { Db } from "@superstep/toolkit/db/database"
import { pause } from "@superstep/toolkit/exec/pause"
import { credentialsOf } from "../../integrations/operations.js"
import { copyFor } from "../../revisions/field.js"
import { sourceConfigFields } from "../../revisions/source-config.js"
import { sourceRevisionConfigFields } from "../../revisions/source-revision-config.js"
import { secretsOfVersion } from "../../secrets/operations.js"
import type { MasterKey } from "../../secrets/seal.js"
import { keyHashes } from "../../workspaces/queries.js"
import type { CallingListener } from "../token-operations.js"
import {
  type AssignedRevision,
  type AssignedRow,
  assignedDeployment,
  assignedDeployments,
  assignedRevisions,
  integrationOf,
} from "./work-queries.js"

// One short query; a notification for each change would cost more than it saves at a few listeners.
const lookEveryMs = 1000

/**
 * Waits until something is not as the listener knows it, at most as long as it asks for.
 * @param signal  ends the wait early: the caller has left, or the control plane stops
 */
export async function workFor(
  { db, key }: { readonly db: Db; readonly key: MasterKey },
  listener: CallingListener,
  request: WorkRequest,
  signal: AbortSignal,
): Promise<WorkReply> {
  const waitUntil = performance.now() + request.wait_ms
  for (;;) {
    const reply = await workNow({ db, key }, listener, request)
    const isNew = reply.changed.length > 0 || reply.callers !== null || hasLost(request, reply.assigned)
    if (isNew || performance.now() >= waitUntil) return reply
    if (!(await pause(lookEveryMs, signal))) return reply
  }
}

/** Whether a deployment that the listener knows is not its own any more. */
const hasLost = ({ known }: WorkRequest, assigned: readonly string[]): boolean =>
  Object.keys(known).some((id) => !assigned.includes(id))

async function workNow(
  { db, key }: { readonly db: Db; readonly key: MasterKey },
  { listenerId, workspaceId }: CallingListener,
  { known, known_callers }: WorkRequest,
): Promise<WorkReply> {
  const callers = await callersOf(db, workspaceId)
  const assigned = await assignedDeployments(db, listenerId)
  const stale = assigned.filter(({ deployment_id, version }) => known[deployment_id] !== version).slice(0, mostInReply)
  const changed: WantedDeployment[] = []
  for (const { deployment_id } of stale) {
    const row = await assignedDeployment(db, listenerId, deployment_id)
    // One that is gone meanwhile is not in the next reply.
    if (row) changed.push(await wanted(db, key, row))
  }
  return {
    workspace_id: workspaceId,
    callers: callers.version === known_callers ? null : callers,
    assigned: assigned.map(({ deployment_id }) => deployment_id),
    changed,
  }
}

async function callersOf(db: Db, workspaceId: string) {
  const { run, read } = await keyHashes(db, workspaceId)
  const version = createHash("sha256")
    .update(JSON.stringify([run, read]))
    .digest("hex")
  return { version, run: [...run], read: [...read] }
}

async function wanted(db: Db, key: MasterKey, row: AssignedRow): Promise<WantedDeployment> {
  // What is deleted needs no secrets any more.
  const revisions = row.is_deleted ? [] : await assignedRevisions(db, row.deployment_id)
  const versions = new Set(row.is_deleted ? [] : [row, ...revisions].map((it) => it.secrets_version))
  return {
    deployment_id: row.deployment_id,
    version: row.version,
    name: row.name,
    display_name: row.display_name,
    source: row.source,
    ...configsThere(row, null),
    secrets_version: row.secrets_version,
    desired_run_state: row.desired_run_state,
    restart_generation: row.restart_generation,
    is_deleted: row.is_deleted,
    integration: row.is_deleted ? null : await integration(db, key, row),
    revisions: revisions.map((it) => wantedRevision(it, row.active_revision_id)),
    secrets: await clearSecrets(db, key, row, versions),
  }
}

/**
 * The configs as a listener's installation has them. Only this side makes the copies, since it alone knows all values that are given to
 * them: the installation writes what it receives. Pure.
 */
const configsThere = (
  { source_config, source_revision_config: code }: Pick<AssignedRow, "source_config" | "source_revision_config">,
  commitSha: string | null,
) => ({
  source_config: copyFor("listener", sourceConfigFields, source_config, {}),
  source_revision_config: copyFor("listener", sourceRevisionConfigFields, code, {
    repo_commit_sha: commitSha ?? code.repo_commit_sha,
  }),
})

/** Pure. */
const wantedRevision = (
  { status, stage, commit_sha, ...it }: AssignedRevision,
  activeId: string | null,
): WantedRevision => ({
  ...it,
  // Built again, it is the same code.
  ...configsThere(it, it.source === "github" ? commit_sha : null),
  is_unfinished: stage !== null,
  is_active: it.revision_id === activeId,
  is_interrupted: status === "INTERRUPTED",
})

async function clearSecrets(db: Db, key: MasterKey, row: AssignedRow, versions: ReadonlySet<number>) {
  const owner = { workspaceId: row.workspace_id, deploymentId: row.deployment_id }
  const secrets: WantedSecret[] = []
  for (const version of versions) {
    const values = await secretsOfVersion(db, key, owner, version)
    for (const [name, value] of Object.entries(values)) secrets.push({ version, name, value })
  }
  return secrets
}

async function integration(db: Db, key: MasterKey, row: AssignedRow): Promise<WantedIntegration | null> {
  const { workspace_id: workspaceId, integration_id: integrationId } = row
  if (integrationId === null) return null
  const stored = await integrationOf(db, integrationId)
  if (!stored) return null
  const credentials = await credentialsOf(db, key, { workspaceId, integrationId })
  const isKey = credentials.kind === "ssh_key"
  return {
    ...stored,
    integration_id: integrationId,
    host: credentials.host,
    auth: credentials.kind,
    username: isKey ? null : credentials.username,
    secret: (isKey ? credentials.privateKey : credentials.token).reveal(),
    known_hosts: isKey ? credentials.knownHosts : null,
  }
}
