/** The table `integrations`, each statement confined to a workspace. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Integration } from "./integration.js"

const columns = sql`integration_id, workspace_id, kind, name, host, username, created_at, updated_at`

/** @returns undefined when the name is taken */
export const insertIntegration = (
  db: Db,
  it: { id: string; workspaceId: string; name: string; host: string; username: string | null; tokenSealed: string },
): Promise<Integration | undefined> =>
  db.row(sql`
    insert into integrations (integration_id, workspace_id, kind, name, host, username, token_sealed)
    values (${it.id}, ${it.workspaceId}, 'git', ${it.name}, ${it.host}, ${it.username}, ${it.tokenSealed})
    on conflict (workspace_id, name) do nothing
    returning ${columns}`)

export const integrationById = (db: Db, workspaceId: string, integrationId: string): Promise<Integration | undefined> =>
  db.row(sql`
    select ${columns} from integrations where workspace_id = ${workspaceId} and integration_id = ${integrationId}`)

export const integrationByName = (db: Db, workspaceId: string, name: string): Promise<Integration | undefined> =>
  db.row(sql`select ${columns} from integrations where workspace_id = ${workspaceId} and name = ${name}`)

export const integrationsOf = (
  db: Db,
  workspaceId: string,
  { limit, offset }: { limit: number | null; offset: number },
): Promise<Integration[]> =>
  db.rows(sql`
    select ${columns} from integrations where workspace_id = ${workspaceId}
    order by created_at desc, integration_id desc limit ${limit} offset ${offset}`)

export const countIntegrations = async (db: Db, workspaceId: string): Promise<number> => {
  const row = await db.row<{ total: number }>(sql`
    select count(*) as total from integrations where workspace_id = ${workspaceId}`)
  return row?.total ?? 0
}

/** @throws a foreign key violation while a deployment names it */
export const removeIntegration = (db: Db, workspaceId: string, integrationId: string): Promise<number> =>
  db.run(sql`delete from integrations where workspace_id = ${workspaceId} and integration_id = ${integrationId}`)

/** Locks out its removal until the transaction that will name it has ended. */
export const holdIntegration = (tx: Db, workspaceId: string, integrationId: string): Promise<number> =>
  tx.run(sql`
    select 1 from integrations where workspace_id = ${workspaceId} and integration_id = ${integrationId} for key share`)

export interface SealedToken {
  readonly host: string
  readonly username: string | null
  readonly token_sealed: string
}

export const sealedToken = (db: Db, workspaceId: string, integrationId: string): Promise<SealedToken | undefined> =>
  db.row(sql`
    select host, username, token_sealed from integrations
    where workspace_id = ${workspaceId} and integration_id = ${integrationId}`)
