/**
 * Restores one deployment from a backup's database: its settings, secrets, revisions and artifacts, under the ids that it had.
 * Its own database and its files are restored by the caller, in this order (`cli/src/backups/restore-deployment.ts`):
 * D1 the database is complete before the rows that name it. D2 the rows are one transaction. D3 the deployment is paused until its
 * files are in place, so nothing is started without them. A kill in between leaves a database without rows, which the next try
 * replaces, or a paused deployment, which a restore with `replace` replaces.
 */
import { randomBytes } from "node:crypto"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, KnownError, NotFound } from "@superstep/toolkit/errors/errors"
import { restoreRunState } from "../deployments/carried-queries.js"
import { routeNames } from "../deployments/operations.js"
import { recordEvent } from "../events/operations.js"
import { integrationExists } from "../integrations/operations.js"
import { openLogBooks } from "../logs/queries.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { type MasterKey, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { lockWorkspace } from "../workspaces/queries.js"
import {
  type Found,
  findByIdOrName,
  freeRouteName,
  insertRows,
  integrationNameTaken,
  isIntegration,
  nextNumber,
  resumeTriggers,
  rowsOfDeployment,
  rowsOfIntegration,
  suspendTriggers,
  type Taken,
  takenBy,
} from "./queries.js"
import {
  type Resealing,
  type RestoredTable,
  type Row,
  resealed,
  restoredRows,
  restoredTables,
  type SavedRows,
} from "./tables.js"

/** A deployment as a backup has it. */
export interface SavedDeployment extends Found {
  readonly rows: SavedRows
  /** The row of its integration and of that one's webhooks; empty without one. */
  readonly integrations: readonly Row[]
  readonly integrationWebhooks: readonly Row[]
  /** Null when its first revision was never started. */
  readonly databaseName: string | null
  readonly number: number
}

/** It is there already, or something that it needs is. */
export class InTheWay extends KnownError {
  readonly code = "in_the_way"
}

/**
 * @param wanted  its id or its name
 * @throws NotFound  the backup has no such deployment, or it is a preview
 * @throws Conflict  several have the name
 */
export async function readSaved(db: Db, wanted: string): Promise<SavedDeployment> {
  const found = await findByIdOrName(db, wanted)
  const [one, ...others] = found
  if (!one) throw new NotFound(`the backup has no deployment ${wanted}`)
  if (others.length > 0) {
    const ids = found.map(({ deployment_id, workspace_id }) => `${deployment_id} (workspace ${workspace_id})`)
    throw new Conflict(`the backup has several deployments named ${wanted}: name one by its id: ${ids.join(", ")}`)
  }
  if (one.is_preview) throw new NotFound(`${wanted} is a preview: it is made again from its pull request`)
  const lists: [RestoredTable, Row[]][] = []
  for (const table of restoredTables) lists.push([table, await rowsOfDeployment(db, table, one.deployment_id)])
  const rows = Object.fromEntries(lists) as Record<RestoredTable, Row[]>
  const [row = {}] = rows.deployments
  const integrationId = row.integration_id as string | null
  const ofIntegration = (table: "integrations" | "integration_webhooks") =>
    integrationId === null ? [] : rowsOfIntegration(db, table, integrationId)
  return {
    ...one,
    rows,
    integrations: await ofIntegration("integrations"),
    integrationWebhooks: await ofIntegration("integration_webhooks"),
    databaseName: row.database_name as string | null,
    number: Number(row.number),
  }
}

export interface Place {
  readonly workspaceId: string
  readonly name: string
}

/**
 * Checks that the deployment can be inserted.
 * @param isReplacing  the present deployment with this id will be deleted before
 * @throws InTheWay
 */
export async function assertFree(
  db: Db,
  saved: SavedDeployment,
  { workspaceId, name }: Place,
  { isReplacing }: { isReplacing: boolean },
): Promise<void> {
  const [row = {}] = saved.rows.deployments
  const taken = await takenBy(db, {
    deploymentId: saved.deployment_id,
    workspaceId,
    name,
    agentId: row.agent_id as string | null,
    agentEnvironment: row.agent_environment as string | null,
    isReplacing,
  })
  if (taken) throw new InTheWay(wordsFor(taken))
}

/** Says what stands in the way, and what to do. Pure. */
function wordsFor({ what, name, deployment_id: id, is_deleted: isDeleted }: Taken): string {
  if (isDeleted) return `the deployment ${name} (${id}) is being deleted: try again in a moment`
  if (what === "id") return `the deployment ${name} (${id}) exists: replace it with --replace, or delete it first`
  if (what === "name") return `another deployment is called ${name} (${id}): give this one another name with --name`
  return `the deployment ${name} (${id}) has its agent's environment: delete that one first`
}

export interface Keys {
  /** The one of the installation. */
  readonly key: MasterKey
  /** Those that may open the values of the backup. */
  readonly former: readonly MasterKey[]
}

const resealingFor = ({ workspace_id }: SavedDeployment, { key, former }: Keys, workspaceId: string): Resealing => ({
  from: { keys: former, workspaceId: workspace_id },
  to: { key, workspaceId },
})

/** Checks that the secrets can be opened, before anything is changed. @throws CannotOpen */
export function assertReadable(saved: SavedDeployment, keys: Keys): void {
  const resealing = resealingFor(saved, keys, saved.workspace_id)
  mapRows(saved.rows, (table, row) => resealed(table, row, resealing))
  for (const row of saved.integrations) resealed("integrations", row, resealing)
  for (const row of saved.integrationWebhooks) resealed("integration_webhooks", row, resealing)
}

/** @returns  a new password for the deployment's role, clear and sealed */
export function newDatabasePassword(key: MasterKey, deploymentId: string): { clear: string; sealed: string } {
  const clear = randomBytes(24).toString("base64url")
  return { clear, sealed: seal(key, clear, contextOf.database(deploymentId)) }
}

export interface InsertedDeployment {
  readonly routeName: string
  readonly number: number
}

/**
 * Adds the deployment, paused. Call `release` when its files are in place.
 * @throws InTheWay    something of the installation stands in the way
 * @throws CannotOpen  the keys do not open its secrets
 */
export async function insertSaved(
  db: Database,
  saved: SavedDeployment,
  { place, keys, databasePasswordSealed }: { place: Place; keys: Keys; databasePasswordSealed: string | null },
): Promise<InsertedDeployment> {
  const { deployment_id: deploymentId } = saved
  const { workspaceId, name } = place
  const resealing = resealingFor(saved, keys, workspaceId)
  const number = await nextNumber(db)
  return db.transaction(async (tx) => {
    await lockWorkspace(tx, workspaceId)
    await assertFree(tx, saved, place, { isReplacing: false })
    const routeName = await freeRouteName(tx, routeNames({ name, workspaceId, deploymentId }))
    if (routeName === undefined) throw new InTheWay(`the address of ${name} is taken: give it another name with --name`)
    const reseal = (table: string, row: Row) => resealed(table, row, resealing)
    const target = { workspaceId, name, routeName, number, databasePasswordSealed }
    const rows = restoredRows(mapRows(saved.rows, reseal), target)
    await suspendTriggers(tx)
    await insertIntegration(tx, saved, workspaceId, reseal)
    for (const table of restoredTables) await insertRows(tx, table, rows[table])
    await openLogBooks(tx, deploymentId)
    await resumeTriggers(tx)
    const data = { name, is_restored: true }
    await recordEvent(tx, { workspaceId, deploymentId, type: "deployment.created", data })
    return { routeName, number }
  })
}

const mapRows = (rows: SavedRows, change: (table: string, row: Row) => Row): SavedRows =>
  Object.fromEntries(restoredTables.map((table) => [table, rows[table].map((row) => change(table, row))])) as Record<
    RestoredTable,
    Row[]
  >

async function insertIntegration(
  tx: Db,
  { integrations, integrationWebhooks }: SavedDeployment,
  workspaceId: string,
  reseal: (table: string, row: Row) => Row,
): Promise<void> {
  for (const row of integrations) {
    const id = String(row.integration_id)
    if (await integrationExists(tx, workspaceId, id)) continue
    if (await isIntegration(tx, id)) {
      throw new InTheWay(`its integration ${id} belongs to another workspace: restore it there, with --workspace`)
    }
    const isTaken = await integrationNameTaken(tx, workspaceId, String(row.name))
    const name = isTaken ? `${row.name}-${id.slice(-12)}` : row.name
    await insertRows(tx, "integrations", [{ ...reseal("integrations", row), workspace_id: workspaceId, name }])
    await insertRows(
      tx,
      "integration_webhooks",
      integrationWebhooks.map((it) => reseal("integration_webhooks", it)),
    )
  }
}

/** Gives the deployment the run state that it had; the planner starts its units. */
export const release = (db: Database, saved: SavedDeployment): Promise<void> =>
  db.transaction(async (tx) => {
    const [row = {}] = saved.rows.deployments
    await restoreRunState(tx, saved.deployment_id, String(row.desired_run_state))
    await wakePipeline(tx, saved.deployment_id)
  })
