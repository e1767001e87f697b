/** The tables `workspaces` and `api_keys`. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { ApiKey, Workspace } from "./workspace.js"

/** @returns undefined when the name is taken */
export const insertWorkspace = (db: Db, workspaceId: string, name: string): Promise<Workspace | undefined> =>
  db.row(sql`
    insert into workspaces (workspace_id, name) values (${workspaceId}, ${name})
    on conflict (name) do nothing returning *`)

export const workspaceById = (db: Db, workspaceId: string): Promise<Workspace | undefined> =>
  db.row(sql`select * from workspaces where workspace_id = ${workspaceId}`)

export const workspaceByName = (db: Db, name: string): Promise<Workspace | undefined> =>
  db.row(sql`select * from workspaces where name = ${name}`)

export const allWorkspaces = (db: Db): Promise<Workspace[]> =>
  db.rows(sql`select * from workspaces order by created_at, workspace_id`)

/** Makes the first start of two processes take turns; let go at the end of the transaction. */
export const lockFirstStart = (tx: Db): Promise<number> =>
  tx.run(sql`lock table workspaces in share row exclusive mode`)

export const insertApiKey = (
  db: Db,
  key: { id: string; workspaceId: string | null; name: string; prefix: string; sha256: string },
): Promise<ApiKey | undefined> =>
  db.row(sql`
    insert into api_keys (api_key_id, workspace_id, name, prefix, sha256)
    values (${key.id}, ${key.workspaceId}, ${key.name}, ${key.prefix}, ${key.sha256})
    returning api_key_id, workspace_id, name, prefix, created_at, revoked_at`)

/** @returns how many keys it ended: 0 when there is none with this id, or it had ended before */
export const revokeKey = (db: Db, apiKeyId: string): Promise<number> =>
  db.run(sql`update api_keys set revoked_at = now() where api_key_id = ${apiKeyId} and revoked_at is null`)

export interface PresentedKey {
  readonly api_key_id: string
  readonly workspace_id: string | null
  /** The workspace that the caller named, if there is one with this id. */
  readonly named_workspace_id: string | null
}

/** A key that is in force, together with the workspace that came with it. */
export const presentedKey = (db: Db, sha256: string, tenantId: string | null): Promise<PresentedKey | undefined> =>
  db.row(sql`
    select k.api_key_id, k.workspace_id, w.workspace_id as named_workspace_id
    from api_keys k left join workspaces w on w.workspace_id = ${tenantId}
    where k.sha256 = ${sha256} and k.revoked_at is null`)

/** Hashes of all keys that may call the agents of a workspace: its own and the installation's. */
export const keyHashes = async (db: Db, workspaceId: string): Promise<string[]> => {
  const rows = await db.rows<{ sha256: string }>(sql`
    select sha256 from api_keys
    where (workspace_id = ${workspaceId} or workspace_id is null) and revoked_at is null order by sha256`)
  return rows.map(({ sha256 }) => sha256)
}

export const keysOf = (db: Db, workspaceId: string | null): Promise<ApiKey[]> =>
  db.rows(sql`
    select api_key_id, workspace_id, name, prefix, created_at, revoked_at from api_keys
    where workspace_id is not distinct from ${workspaceId} order by created_at, api_key_id`)
