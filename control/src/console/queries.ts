/** The tables `console_sessions` and `console_codes`. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { PresentedKey } from "../workspaces/queries.js"
import type { Role, Scope, Workspace } from "../workspaces/workspace.js"
import { codeMinutes, idleHours, mostDays } from "./session.js"

/** What a session or a code stands for. */
export type Holder = { readonly apiKeyId: string } | { readonly personId: string }

const keyOf = (holder: Holder) => ("apiKeyId" in holder ? holder.apiKeyId : null)
const personOf = (holder: Holder) => ("personId" in holder ? holder.personId : null)

export interface NewCode {
  readonly sha256: string
  readonly holder: Holder
  /** For which it is made: its audit log records the sign-in. null: the person's own. */
  readonly workspaceId: string | null
}

export const insertCode = (
  db: Db,
  { sha256, holder, workspaceId }: NewCode,
): Promise<{ expires_at: Date } | undefined> =>
  db.row(sql`
    insert into console_codes (sha256, api_key_id, person_id, workspace_id, expires_at)
    values (${sha256}, ${keyOf(holder)}, ${personOf(holder)}, ${workspaceId}, now() + make_interval(mins => ${codeMinutes}))
    returning expires_at`)

/** Who a session or a code stands for, as stored. */
export interface HolderRow {
  readonly api_key_id: string | null
  readonly person_id: string | null
}

/** Removes a code, so that it is used once. @returns  undefined for an unknown one and for one that has expired */
export const takeCode = (db: Db, sha256: string): Promise<(HolderRow & { workspace_id: string | null }) | undefined> =>
  db.row(sql`
    with taken as (delete from console_codes where sha256 = ${sha256} returning *)
    select api_key_id, person_id, workspace_id from taken where expires_at > now()`)

const keyInForce = sql`k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`

/** @returns  undefined when the key is not valid; it can be revoked as soon as this has been read (C1 holds at each request) */
export const keyBySha256 = (db: Db, sha256: string): Promise<{ api_key_id: string } | undefined> =>
  db.row(sql`select k.api_key_id from api_keys k where k.sha256 = ${sha256} and ${keyInForce}`)

/**
 * Held until the end of the transaction by who opens a session of a person, and by who ends a membership: without it, a session that opens while
 * the last membership ends would remain, for a later one.
 */
export const lockHolder = async (tx: Db, holder: Holder): Promise<void> => {
  await tx.run(sql`select from people where person_id = ${personOf(holder)} for no key update`)
}

export interface NewSession {
  readonly sha256: string
  readonly holder: Holder
  readonly ip: string | undefined
  /** As the browser names itself. */
  readonly userAgent: string | undefined
}

/** @returns  whether the key is valid, or the person belongs to a workspace, so that the session was created */
export const insertSession = async (db: Db, { sha256, holder, ip, userAgent }: NewSession): Promise<boolean> =>
  (await db.run(sql`
    insert into console_sessions (sha256, api_key_id, person_id, expires_at, ip, user_agent)
    select ${sha256}, ${keyOf(holder)}::uuid, ${personOf(holder)}::uuid, now() + make_interval(days => ${mostDays}),
      ${ip ?? null}, ${userAgent ?? null}
    where exists (select from api_keys k where k.api_key_id = ${keyOf(holder)} and ${keyInForce})
      or exists (select from members where person_id = ${personOf(holder)})`)) > 0

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

/** A workspace of the person whose session it is, with their role there. */
export interface PresentedMember {
  readonly person_id: string
  readonly name: string
  readonly email: string
  readonly workspace_id: string
  readonly workspace_name: string
  readonly role: Role
}

/** All workspaces of the person of a session that has not ended, the earliest first; none where it is no person's. */
export const presentedMembers = (db: Db, sha256: string): Promise<PresentedMember[]> =>
  db.rows(sql`
    select p.person_id, p.name, p.email, m.workspace_id, w.name as workspace_name, m.role
    from console_sessions s join people p using (person_id) join members m using (person_id) join workspaces w using (workspace_id)
    where s.sha256 = ${sha256} and ${sessionInForce} order by m.created_at, m.workspace_id`)

export interface SessionRow {
  readonly session_id: string
  /** Of a key; null for a person's. */
  readonly api_key_id: string | null
  readonly workspace_id: string | null
  readonly prefix: string | null
  readonly scopes: readonly Scope[] | null
  /** When it ends at the latest; that of the key, if that expires earlier. */
  readonly expires_at: Date
}

export const sessionBySha256 = (db: Db, sha256: string): Promise<SessionRow | undefined> =>
  db.row(sql`
    select s.session_id, k.api_key_id, k.workspace_id, k.prefix, k.scopes, least(s.expires_at, k.expires_at) as expires_at
    from console_sessions s left join api_keys k using (api_key_id)
    where s.sha256 = ${sha256} and ${sessionInForce}
      and (${keyInForce} and k.api_key_id is not null or exists (select from members m where m.person_id = s.person_id))`)

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

export interface ListedSession {
  readonly session_id: string
  readonly sha256: string
  readonly person_id: string | null
  readonly name: string | null
  readonly email: string | null
  readonly api_key_id: string | null
  readonly prefix: string | null
  readonly created_at: Date
  readonly last_used_at: Date
  readonly expires_at: Date
  readonly ip: string | null
  readonly user_agent: string | null
}

/** Whose sessions: of all members and keys of a workspace, or of one holder. */
export type SessionsOf = { readonly workspaceId: string } | Holder

/** Sessions that have not ended, the most recently used first. */
export const sessionsOf = (db: Db, of: SessionsOf): Promise<ListedSession[]> =>
  db.rows(sql`
    select s.session_id, s.sha256, p.person_id, p.name, p.email, k.api_key_id, k.prefix, s.created_at, s.last_used_at,
      least(s.expires_at, k.expires_at) as expires_at, s.ip, s.user_agent
    from console_sessions s left join api_keys k on k.api_key_id = s.api_key_id and ${keyInForce}
      left join people p on p.person_id = s.person_id
    where ${sessionInForce} and ${ofWhom(of)} order by s.last_used_at desc, s.session_id`)

const ofWhom = (of: SessionsOf) => {
  if ("apiKeyId" in of) return sql`k.api_key_id = ${of.apiKeyId}`
  if ("personId" in of) return sql`p.person_id = ${of.personId}`
  return sql`(k.workspace_id = ${of.workspaceId}
    or exists (select from members m where m.person_id = s.person_id and m.workspace_id = ${of.workspaceId}))`
}

/** Ends all sessions and codes of a person who belongs to no workspace any more, so that none returns with a later membership. */
export const deleteSessionsOfStranger = async (db: Db, personId: string): Promise<void> => {
  const isStranger = sql`person_id = ${personId} and not exists (select from members where person_id = ${personId})`
  await db.run(sql`delete from console_sessions where ${isStranger}`)
  // A code that is locked is being used. Its sign-in waits for this transaction, and finds no membership then.
  await db.run(sql`
    delete from console_codes where sha256 in (select sha256 from console_codes where ${isStranger} for update skip locked)`)
}

/** Sessions and codes that nobody can use any more. */
export const deleteEndedSessions = async (db: Db): Promise<void> => {
  await db.run(sql`delete from console_sessions s where not (${sessionInForce})`)
  await db.run(sql`
    delete from console_sessions s using api_keys k where k.api_key_id = s.api_key_id and not (${keyInForce})`)
  await db.run(sql`delete from console_codes where expires_at <= now()`)
}

/** By which the edge knows a member. @returns  undefined when the person is no member any more */
export const memberHash = (db: Db, workspaceId: string, personId: string): Promise<{ sha256: string } | undefined> =>
  db.row(sql`
    select edge_sha256 as sha256 from members where workspace_id = ${workspaceId} and person_id = ${personId}`)

/** @returns  undefined when the key is not valid */
export const validKeyHash = (db: Db, apiKeyId: string): Promise<{ sha256: string } | undefined> =>
  db.row(sql`select k.sha256 from api_keys k where k.api_key_id = ${apiKeyId} and ${keyInForce}`)
