/** The tables `console_sessions` and `console_codes`. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { PresentedKey } from "../workspaces/queries.js"
import type { Scope, Workspace } from "../workspaces/workspace.js"
import { codeMinutes, idleHours, mostDays } from "./session.js"

export interface NewCode {
  readonly sha256: string
  readonly apiKeyId: string
  readonly workspaceId: string
}

export const insertCode = (db: Db, code: NewCode): Promise<{ expires_at: Date } | undefined> =>
  db.row(sql`
    insert into console_codes (sha256, api_key_id, workspace_id, expires_at)
    values (${code.sha256}, ${code.apiKeyId}, ${code.workspaceId}, now() + make_interval(mins => ${codeMinutes}))
    returning expires_at`)

/** Removes a code, so that it is used once. @returns  undefined for an unknown one and for one that has expired */
export const takeCode = (db: Db, sha256: string): Promise<{ api_key_id: string; workspace_id: string } | undefined> =>
  db.row(sql`
    with taken as (delete from console_codes where sha256 = ${sha256} returning *)
    select api_key_id, workspace_id from taken where expires_at > now()`)

const keyInForce = sql`k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`

/** @returns  undefined when the key is not valid; it can be revoked as soon as this has been read (C1 holds at each request) */
export const keyBySha256 = (db: Db, sha256: string): Promise<{ api_key_id: string } | undefined> =>
  db.row(sql`select k.api_key_id from api_keys k where k.sha256 = ${sha256} and ${keyInForce}`)

/** @returns  whether the key is valid, so that the session was created */
export const insertSession = async (db: Db, sha256: string, apiKeyId: string): Promise<boolean> =>
  (await db.run(sql`
    insert into console_sessions (sha256, api_key_id, expires_at)
    select ${sha256}, k.api_key_id, now() + make_interval(days => ${mostDays})
    from api_keys k where k.api_key_id = ${apiKeyId} and ${keyInForce}`)) > 0

const sessionInForce = sql`
  s.expires_at > now() and s.last_used_at > now() - make_interval(hours => ${idleHours})`

/** The valid key of a session that has not ended. */
export const presentedSession = (db: Db, sha256: string, tenantId: string | null): Promise<PresentedKey | undefined> =>
  db.row(sql`
    select k.api_key_id, k.workspace_id, k.prefix, k.scopes, w.workspace_id as named_workspace_id
    from console_sessions s join api_keys k using (api_key_id)
      left join workspaces w on w.workspace_id = ${tenantId}
    where s.sha256 = ${sha256} and ${sessionInForce} and ${keyInForce}`)

/** Records the use of a session that has not ended, at most once a minute. */
export const recordUse = (db: Db, sha256: string): Promise<number> =>
  db.run(sql`
    update console_sessions s set last_used_at = now()
    where s.sha256 = ${sha256} and ${sessionInForce} and s.last_used_at < now() - interval '1 minute'`)

export interface SessionRow {
  readonly api_key_id: string
  readonly workspace_id: string | null
  readonly prefix: string
  readonly scopes: readonly Scope[]
  /** When it ends at the latest; that of the key, if that expires earlier. */
  readonly expires_at: Date
}

export const sessionBySha256 = (db: Db, sha256: string): Promise<SessionRow | undefined> =>
  db.row(sql`
    select k.api_key_id, k.workspace_id, k.prefix, k.scopes, least(s.expires_at, k.expires_at) as expires_at
    from console_sessions s join api_keys k using (api_key_id)
    where s.sha256 = ${sha256} and ${sessionInForce} and ${keyInForce}`)

/** The workspaces that a key may name. @param workspaceId  null: a key of the installation */
export const workspacesOfKey = (
  db: Db,
  workspaceId: string | null,
): Promise<Pick<Workspace, "workspace_id" | "name">[]> =>
  db.rows(sql`
    select workspace_id, name from workspaces
    where ${workspaceId}::uuid is null or workspace_id = ${workspaceId} order by created_at, workspace_id`)

export const deleteSession = (db: Db, sha256: string): Promise<number> =>
  db.run(sql`delete from console_sessions where sha256 = ${sha256}`)

/** Sessions and codes that nobody can use any more. */
export const deleteEndedSessions = async (db: Db): Promise<void> => {
  await db.run(sql`
    delete from console_sessions s using api_keys k
    where k.api_key_id = s.api_key_id and not (${sessionInForce} and ${keyInForce})`)
  await db.run(sql`delete from console_codes where expires_at <= now()`)
}

/** @returns  undefined when the key is not valid */
export const validKeyHash = (db: Db, apiKeyId: string): Promise<{ sha256: string } | undefined> =>
  db.row(sql`select k.sha256 from api_keys k where k.api_key_id = ${apiKeyId} and ${keyInForce}`)
