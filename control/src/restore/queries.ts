/** Reads a deployment's rows from a backup's database, and writes them into the installation's. */
import type { Db } from "@superstep/toolkit/db/database"
import { identifier, sql } from "@superstep/toolkit/db/sql"
import type { RestoredTable, Row } from "./tables.js"

export interface Found {
  readonly deployment_id: string
  readonly workspace_id: string
  readonly name: string
  readonly is_preview: boolean
}

export const migrationNames = async (db: Db): Promise<string[]> =>
  (await db.rows<{ name: string }>(sql`select name from schema_migrations`)).map(({ name }) => name)

/** Deployments with this id or name, in all workspaces. */
export const findByIdOrName = (db: Db, wanted: string): Promise<Found[]> =>
  db.rows(sql`
    select deployment_id, workspace_id, name, is_preview from deployments
    where delete_requested_at is null and (deployment_id::text = lower(${wanted}) or name = ${wanted})
    order by deployment_id`)

const rowsWhere = async (db: Db, table: string, column: string, id: string): Promise<Row[]> => {
  const rows = await db.rows<{ row: Row }>(sql`
    select to_jsonb(t) as row from ${identifier(table)} t where ${identifier(column)} = ${id}`)
  return rows.map(({ row }) => row)
}

export const rowsOfDeployment = (db: Db, table: RestoredTable, deploymentId: string): Promise<Row[]> =>
  rowsWhere(db, table, "deployment_id", deploymentId)

export const rowsOfIntegration = (
  db: Db,
  table: "integrations" | "integration_webhooks",
  integrationId: string,
): Promise<Row[]> => rowsWhere(db, table, "integration_id", integrationId)

/** Triggers and foreign keys do not act on this transaction's rows from here: events and commit statuses were told long ago. */
export const suspendTriggers = (tx: Db): Promise<number> => tx.run(sql`set local session_replication_role = replica`)

export const resumeTriggers = (tx: Db): Promise<number> => tx.run(sql`set local session_replication_role = origin`)

export const insertRows = (tx: Db, table: string, rows: readonly Row[]): Promise<number> =>
  tx.run(sql`
    insert into ${identifier(table)} overriding system value
    select * from jsonb_populate_recordset(null::${identifier(table)}, ${JSON.stringify(rows)}::jsonb)`)

/** In any workspace. */
export const isIntegration = async (db: Db, integrationId: string): Promise<boolean> =>
  (await db.row(sql`select from integrations where integration_id = ${integrationId}`)) !== undefined

export const integrationNameTaken = async (db: Db, workspaceId: string, name: string): Promise<boolean> =>
  (await db.row(sql`select from integrations where workspace_id = ${workspaceId} and name = ${name}`)) !== undefined

/** A user number that no deployment of this installation ever had. */
export const nextNumber = async (db: Db): Promise<number> => {
  const row = await db.row<{ number: number }>(
    sql`select nextval(pg_get_serial_sequence('deployments', 'number')) as number`,
  )
  if (!row) throw new Error("a sequence has a next number")
  return row.number
}

export interface Taken {
  readonly deployment_id: string
  readonly name: string
  readonly what: "id" | "name" | "agent"
  readonly is_deleted: boolean
}

/**
 * What of the installation stands in the way. A deployment that is being deleted keeps its id.
 * @param isReplacing  the one with this id does not count
 */
export const takenBy = (
  db: Db,
  it: {
    deploymentId: string
    workspaceId: string
    name: string
    agentId: string | null
    agentEnvironment: string | null
    isReplacing: boolean
  },
): Promise<Taken | undefined> =>
  db.row(sql`
    select d.deployment_id, d.name, d.delete_requested_at is not null as is_deleted,
      case when d.deployment_id = ${it.deploymentId} then 'id' when d.name = ${it.name} then 'name' else 'agent' end as what
    from deployments d
    where (d.deployment_id = ${it.deploymentId} and not ${it.isReplacing})
      or (d.deployment_id <> ${it.deploymentId} and d.delete_requested_at is null and d.workspace_id = ${it.workspaceId}
        and (d.name = ${it.name} or (d.agent_id = ${it.agentId} and d.agent_environment = ${it.agentEnvironment})))
    order by d.deployment_id = ${it.deploymentId} desc, d.name = ${it.name} desc limit 1`)

/** @returns  the first name that no other deployment has in its address */
export const freeRouteName = async (db: Db, names: readonly string[]): Promise<string | undefined> => {
  const row = await db.row<{ name: string }>(sql`
    select name from unnest(${names}::text[]) with ordinality as wanted (name, place)
    where not exists (select from deployments d where d.route_name = wanted.name and d.delete_requested_at is null)
    order by place limit 1`)
  return row?.name
}
