/** The tables `people`, `members` and `invitations`. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { approvingRoles, type Role } from "../workspaces/workspace.js"

/** Who somebody says that a person is. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly name: string
}

/** The account of an identity: made at its first sign-in, with its present name and address from then on. */
export const savePerson = (
  tx: Db,
  id: string,
  { issuer, subject, email, name }: Identity,
): Promise<PersonRow | undefined> =>
  tx.row(sql`
    insert into people (person_id, issuer, subject, email, name) values (${id}, ${issuer}, ${subject}, ${email}, ${name})
    on conflict (issuer, subject) do update set email = excluded.email, name = excluded.name, signed_in_at = now()
    returning person_id, email, name`)

export interface PersonRow {
  readonly person_id: string
  readonly email: string
  readonly name: string
}

export interface MemberRow extends PersonRow {
  readonly role: Role
  /** Groups of the provider gave it, and change it at each sign-in (P8). */
  readonly is_by_group: boolean
  readonly created_at: Date
  readonly signed_in_at: Date
}

const memberColumns = sql`p.person_id, p.email, p.name, m.role, m.is_by_group, m.created_at, p.signed_in_at`

export const membersOf = (db: Db, workspaceId: string): Promise<MemberRow[]> =>
  db.rows(sql`
    select ${memberColumns} from members m join people p using (person_id)
    where m.workspace_id = ${workspaceId} order by m.created_at, p.person_id`)

export const memberById = (db: Db, workspaceId: string, personId: string): Promise<MemberRow | undefined> =>
  db.row(sql`
    select ${memberColumns} from members m join people p using (person_id)
    where m.workspace_id = ${workspaceId} and p.person_id = ${personId}`)

export const isMember = async (db: Db, personId: string): Promise<boolean> =>
  (await db.row(sql`select from members where person_id = ${personId} limit 1`)) !== undefined

/** Locks the workspaces of these names and those where the identity is a member by group, in one order for all sign-ins. */
export const lockWorkspacesOfGroups = (
  tx: Db,
  names: readonly string[],
  { issuer, subject }: Pick<Identity, "issuer" | "subject">,
): Promise<{ readonly workspace_id: string; readonly name: string }[]> =>
  tx.rows(sql`
    select workspace_id, name from workspaces
    where name = any(${names}::text[]) or workspace_id in (
      select m.workspace_id from members m join people p using (person_id)
      where p.issuer = ${issuer} and p.subject = ${subject} and m.is_by_group)
    order by workspace_id for no key update`)

export interface NewMember {
  readonly workspaceId: string
  readonly personId: string
  readonly role: Role
  readonly edgeSha256: string
  readonly isByGroup?: boolean
}

/** Whoever is a member keeps their role: only an admin changes it. */
export const insertMember = (tx: Db, it: NewMember): Promise<number> =>
  tx.run(sql`
    insert into members (workspace_id, person_id, role, edge_sha256, is_by_group)
    values (${it.workspaceId}, ${it.personId}, ${it.role}, ${it.edgeSha256}, ${it.isByGroup ?? false}) on conflict do nothing`)

export interface ChangedRole {
  readonly workspaceId: string
  readonly personId: string
  readonly role: Role
  readonly isByGroup: boolean
  /** undefined: the edge knows the member as before. */
  readonly edgeSha256: string | undefined
}

export const setRole = (tx: Db, { workspaceId, personId, role, isByGroup, edgeSha256 }: ChangedRole): Promise<number> =>
  tx.run(sql`
    update members set role = ${role}, is_by_group = ${isByGroup}, edge_sha256 = coalesce(${edgeSha256 ?? null}, edge_sha256)
    where workspace_id = ${workspaceId} and person_id = ${personId}`)

export const deleteMember = (tx: Db, workspaceId: string, personId: string): Promise<number> =>
  tx.run(sql`delete from members where workspace_id = ${workspaceId} and person_id = ${personId}`)

/** Hashes by which the edge knows the members of a workspace, by what they may do at agents. */
export interface MemberHashes {
  readonly approve: readonly string[]
  readonly run: readonly string[]
  readonly read: readonly string[]
}

/** By workspace; one without members is missing. */
export async function memberHashes(
  db: Db,
  workspaceIds: readonly string[],
): Promise<ReadonlyMap<string, MemberHashes>> {
  const rows = await db.rows<MemberHashes & { workspace_id: string }>(sql`
    select workspace_id,
      coalesce(array_agg(edge_sha256 order by edge_sha256) filter (where role = any(${approvingRoles}::text[])), '{}') as approve,
      coalesce(array_agg(edge_sha256 order by edge_sha256) filter (where role = 'run'), '{}') as run,
      coalesce(array_agg(edge_sha256 order by edge_sha256) filter (where role = 'read'), '{}') as read
    from members where workspace_id = any(${workspaceIds}::uuid[]) group by workspace_id`)
  return new Map(rows.map((row) => [row.workspace_id, row]))
}

export interface InvitationRow {
  readonly invitation_id: string
  readonly workspace_id: string
  readonly email: string
  readonly role: Role
  readonly invited_by: string
  readonly created_at: Date
  readonly expires_at: Date
}

export interface NewInvitation {
  readonly id: string
  readonly workspaceId: string
  /** In lower case. */
  readonly email: string
  readonly role: Role
  readonly sha256: string
  readonly invitedBy: string
  readonly days: number
}

const invitationColumns = sql`invitation_id, workspace_id, email, role, invited_by, created_at, expires_at`

/** Replaces an earlier invitation of the same address. */
export const insertInvitation = async (tx: Db, it: NewInvitation): Promise<InvitationRow | undefined> => {
  await tx.run(sql`delete from invitations where workspace_id = ${it.workspaceId} and email = ${it.email}`)
  return tx.row(sql`
    insert into invitations (invitation_id, workspace_id, email, role, sha256, invited_by, expires_at)
    values (${it.id}, ${it.workspaceId}, ${it.email}, ${it.role}, ${it.sha256}, ${it.invitedBy},
      now() + make_interval(days => ${it.days}))
    on conflict (workspace_id, email) do nothing returning ${invitationColumns}`)
}

/** Those that can still be accepted, the newest first. */
export const invitationsOf = (db: Db, workspaceId: string): Promise<InvitationRow[]> =>
  db.rows(sql`
    select ${invitationColumns} from invitations
    where workspace_id = ${workspaceId} and expires_at > now() order by created_at desc, invitation_id`)

export const deleteInvitation = (tx: Db, workspaceId: string, id: string): Promise<number> =>
  tx.run(sql`
    delete from invitations where workspace_id = ${workspaceId} and invitation_id = ${id} and expires_at > now()`)

/** Those that a person made, and those of their own address. */
export const deleteInvitationsOf = (
  tx: Db,
  workspaceId: string,
  { person_id: personId, email }: PersonRow,
): Promise<number> =>
  tx.run(sql`
    delete from invitations
    where workspace_id = ${workspaceId} and (invited_by = ${`person:${personId}`} or email = lower(${email}))`)

/** Removes an invitation, so that it is accepted once. @returns  undefined for an unknown one and for one that has expired */
export const takeInvitation = (tx: Db, sha256: string): Promise<InvitationRow | undefined> =>
  tx.row(sql`
    with taken as (delete from invitations where sha256 = ${sha256} returning *)
    select ${invitationColumns} from taken where expires_at > now()`)

export const deleteExpiredInvitations = (db: Db): Promise<number> =>
  db.run(sql`delete from invitations where expires_at <= now()`)
