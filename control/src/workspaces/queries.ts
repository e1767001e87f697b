/** The tables `workspaces` and `api_keys`. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { type ApiKey, mayDo, type Scope, type Workspace } from "./workspace.js"

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

/** Serializes the first start of two processes; the lock is released at the end of the transaction. */
export const lockFirstStart = (tx: Db): Promise<number> =>
  tx.run(sql`lock table workspaces in share row exclusive mode`)

export interface NewApiKey {
  readonly id: string
  readonly workspaceId: string | null
  readonly name: string
  readonly prefix: string
  readonly sha256: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | null
  /** `person:<id>` or `api_key:<id>`. */
  readonly createdBy: string | null
}

const keyColumns = sql`
  api_key_id, workspace_id, name, prefix, scopes, created_at, expires_at, revoked_at, last_used_at, created_by, coalesce(
    (select p.name from people p where p.person_id = substring(api_keys.created_by from '^person:(.+)')::uuid),
    (select k.name from api_keys k where k.api_key_id = substring(api_keys.created_by from '^api_key:(.+)')::uuid)) as created_by_name`

export const insertApiKey = (db: Db, key: NewApiKey): Promise<ApiKey | undefined> =>
  db.row(sql`
    insert into api_keys (api_key_id, workspace_id, name, prefix, sha256, scopes, expires_at, created_by)
    values (${key.id}, ${key.workspaceId}, ${key.name}, ${key.prefix}, ${key.sha256}, ${key.scopes}, ${key.expiresAt},
      ${key.createdBy})
    returning ${keyColumns}`)

/**
 * @param workspaceId  the workspace of the key; null for any
 * @returns  the number of revoked keys: 0 when no valid key has this id
 */
export const revokeKey = (db: Db, apiKeyId: string, workspaceId: string | null): Promise<number> =>
  db.run(sql`
    update api_keys set revoked_at = superstep_now()
    where api_key_id = ${apiKeyId} and revoked_at is null 
      and (${workspaceId}::uuid is null or workspace_id = ${workspaceId})`)

export interface PresentedKey {
  readonly api_key_id: string
  readonly workspace_id: string | null
  readonly prefix: string
  readonly scopes: readonly Scope[]
  /** The workspace that the caller named, if it exists. */
  readonly named_workspace_id: string | null
}

const inForce = sql`revoked_at is null and (expires_at is null or expires_at > superstep_now())`

/** The number of a workspace's keys that are neither revoked nor expired. */
export const countKeysInForce = async (db: Db, workspaceId: string): Promise<number> => {
  const row = await db.row<{ keys: number }>(sql`
    select count(*) as keys from api_keys where workspace_id = ${workspaceId} and ${inForce}`)
  return row?.keys ?? 0
}

/** A valid key, together with the workspace that came with it. Records its use, at most once a minute. */
export const presentedKey = (db: Db, sha256: string, tenantId: string | null): Promise<PresentedKey | undefined> =>
  db.row(sql`
    with used as (
      update api_keys set last_used_at = superstep_now()
      where sha256 = ${sha256} and ${inForce} and coalesce(last_used_at < superstep_now() - interval '1 minute', true))
    select k.api_key_id, k.workspace_id, k.prefix, k.scopes, w.workspace_id as named_workspace_id
    from api_keys k left join workspaces w on w.workspace_id = ${tenantId}
    where k.sha256 = ${sha256} and ${inForce}`)

/** Hashes of keys that may call the agents of a workspace: its own and the installation's. */
export interface CallerKeys {
  /** They may run agents. */
  readonly run: readonly string[]
  /** They may only read. */
  readonly read: readonly string[]
}

/** By workspace. */
export async function callerKeys(db: Db, workspaceIds: readonly string[]): Promise<ReadonlyMap<string, CallerKeys>> {
  const rows = await db.rows<{ workspace_id: string; sha256: string; scopes: readonly Scope[] }>(sql`
    select w.workspace_id, k.sha256, k.scopes from unnest(${workspaceIds}::uuid[]) as w (workspace_id)
      join api_keys k on k.workspace_id = w.workspace_id or k.workspace_id is null
    where ${inForce} order by k.sha256`)
  const keys = new Map(workspaceIds.map((id) => [id, { run: [] as string[], read: [] as string[] }]))
  for (const { workspace_id, sha256, scopes } of rows)
    keys.get(workspace_id)?.[mayDo(scopes, "run") ? "run" : "read"].push(sha256)
  return keys
}

export const keyHashes = async (db: Db, workspaceId: string): Promise<CallerKeys> =>
  (await callerKeys(db, [workspaceId])).get(workspaceId) ?? { run: [], read: [] }

export const keysOf = (db: Db, workspaceId: string | null): Promise<ApiKey[]> =>
  db.rows(sql`
    select ${keyColumns} from api_keys
    where workspace_id is not distinct from ${workspaceId} order by created_at, api_key_id`)

/** Makes others that would take a name, a key or a part of this workspace's quotas wait until the transaction ends. */
export const lockWorkspace = (tx: Db, workspaceId: string): Promise<number> =>
  // Not `for update`: that would also block everything that refers to the workspace.
  tx.run(sql`select 1 from workspaces where workspace_id = ${workspaceId} for no key update`)

export const addWorkspace = (tx: Db, workspaceId: string, name: string): Promise<number> =>
  tx.run(sql`
    insert into workspaces (workspace_id, name) values (${workspaceId}, ${name}) on conflict (workspace_id) do nothing`)

/** Replaces the keys of a workspace that mirrors one of the control plane. */
export async function replaceCallers(
  tx: Db,
  workspaceId: string,
  keys: readonly { readonly id: string; readonly sha256: string; readonly scope: "run" | "read" }[],
): Promise<void> {
  const hashes = keys.map(({ sha256 }) => sha256)
  await tx.run(sql`
    delete from api_keys where workspace_id = ${workspaceId} and not (sha256 = any(${hashes}::text[]))`)
  await tx.run(sql`
    insert into api_keys (api_key_id, workspace_id, name, prefix, sha256, scopes)
    select id, ${workspaceId}, 'of the control plane', 'ssk_', sha256, array[scope]
    from unnest(${keys.map(({ id }) => id)}::uuid[], ${hashes}::text[], ${keys.map(({ scope }) => scope)}::text[])
      as given (id, sha256, scope)
    on conflict (sha256) do update set scopes = excluded.scopes where api_keys.workspace_id = ${workspaceId}`)
}
