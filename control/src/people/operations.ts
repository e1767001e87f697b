/** Invites people, and changes and ends memberships. Rules P1–P8: README.md. */
import { randomBytes } from "node:crypto"
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, Forbidden, NotFound } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { type Actor, actorText } from "../audit/audit-entry.js"
import { deleteSessionsOfStranger, lockHolder } from "../console/queries.js"
import { newSecret } from "../console/session.js"
import { wakeRoutes } from "../revisions/wake-up.js"
import { lockWorkspace } from "../workspaces/queries.js"
import { type Role, roles } from "../workspaces/workspace.js"
import {
  deleteInvitation,
  deleteInvitationsOf,
  deleteMember,
  type InvitationRow,
  insertInvitation,
  type MemberRow,
  memberById,
  membersOf,
  setRole,
} from "./queries.js"

const invitationDays = 7

export interface WantedInvitation {
  readonly workspaceId: string
  readonly email: string
  readonly role: Role
  readonly invitedBy: Actor
}

export interface CreatedInvitation {
  readonly invitation: InvitationRow
  /** For the link. Only its hash is stored, so it is shown only this once. */
  readonly token: string
}

/**
 * Invites an address, in place of an earlier invitation of it (P2).
 * @throws Forbidden  the admin has lost the role since the request was checked (P7)
 */
export async function invite(tx: Db, wanted: WantedInvitation): Promise<CreatedInvitation> {
  const { workspaceId, role, invitedBy } = wanted
  // One after the other, so that the newest invitation of an address is the only one.
  await lockWorkspace(tx, workspaceId)
  await requireStillAdmin(tx, workspaceId, invitedBy)
  const { clear: token, sha256 } = newSecret()
  const invitation = await insertInvitation(tx, {
    id: newId(),
    workspaceId,
    email: wanted.email.toLowerCase(),
    role,
    sha256,
    invitedBy: actorText(invitedBy),
    days: invitationDays,
  })
  if (!invitation) throw new Error("the new invitation was not stored")
  return { invitation, token }
}

/**
 * Call it when the workspace is locked: another admin may have ended the caller's role since the request was checked.
 * @throws Forbidden  the caller is a person, and is not an admin any more (P7)
 */
async function requireStillAdmin(tx: Db, workspaceId: string, caller: Actor): Promise<void> {
  if (!("personId" in caller) || (await memberById(tx, workspaceId, caller.personId))?.role === "admin") return
  throw new Forbidden("this account has lost the role admin, which this request requires", "scope_missing")
}

/** @throws NotFound */
export async function withdrawInvitation(tx: Db, workspaceId: string, id: string): Promise<void> {
  if ((await deleteInvitation(tx, workspaceId, id)) === 0) throw new NotFound(`Invitation ID ${id} not found.`)
}

/** Nothing has this hash: it is random, so no key and no other member can be found by it. */
export const newEdgeHash = (): string => randomBytes(32).toString("hex")

/** @throws NotFound */
export async function findMember(db: Db, workspaceId: string, personId: string): Promise<MemberRow> {
  const member = await memberById(db, workspaceId, personId)
  if (!member) throw new NotFound(`Member ID ${personId} not found.`)
  return member
}

export interface WantedRole {
  readonly workspaceId: string
  readonly personId: string
  readonly role: Role
  /** Undefined: the platform changes it. */
  readonly changedBy?: Actor
  /** Default: an admin gives it, so groups of the provider change it no more (P8). */
  readonly isByGroup?: boolean
}

/**
 * Changes a role. With a lower one the edge knows the member by another hash: so what they have open at agents ends, such as a WebSocket that
 * was opened with more rights (P6), and so do their invitations (P7).
 * @throws NotFound @throws Conflict  `last_admin` (P5) @throws Forbidden  `changedBy` is not an admin any more (P7)
 */
export async function changeRole(
  tx: Db,
  { workspaceId, personId, role, changedBy, isByGroup = false }: WantedRole,
): Promise<MemberRow> {
  await lockWorkspace(tx, workspaceId)
  if (changedBy) await requireStillAdmin(tx, workspaceId, changedBy)
  const member = await findMember(tx, workspaceId, personId)
  if (role !== "admin") await requireOtherAdmin(tx, workspaceId, member)
  const isLower = roles.indexOf(role) < roles.indexOf(member.role)
  if (isLower) await deleteInvitationsOf(tx, workspaceId, member)
  await setRole(tx, { workspaceId, personId, role, isByGroup, edgeSha256: isLower ? newEdgeHash() : undefined })
  await wakeRoutes(tx)
  return { ...member, role, is_by_group: isByGroup }
}

/**
 * Ends a membership: later requests in this workspace are refused, sessions end with the last membership (P6), and invitations end (P7).
 * @param removedBy  undefined: the platform removes the member
 * @throws NotFound @throws Conflict  `last_admin` (P5) @throws Forbidden  `removedBy` is not an admin any more (P7)
 */
export async function removeMember(
  tx: Db,
  workspaceId: string,
  personId: string,
  removedBy?: Actor,
): Promise<MemberRow> {
  await lockWorkspace(tx, workspaceId)
  if (removedBy) await requireStillAdmin(tx, workspaceId, removedBy)
  const member = await findMember(tx, workspaceId, personId)
  await requireOtherAdmin(tx, workspaceId, member)
  // In the order in which a sign-in locks them: the invitation, then the person.
  await deleteInvitationsOf(tx, workspaceId, member)
  await lockHolder(tx, { personId })
  await deleteMember(tx, workspaceId, personId)
  await deleteSessionsOfStranger(tx, personId)
  await wakeRoutes(tx)
  return member
}

async function requireOtherAdmin(tx: Db, workspaceId: string, member: MemberRow): Promise<void> {
  if (member.role !== "admin") return
  const admins = (await membersOf(tx, workspaceId)).filter(({ role }) => role === "admin")
  if (admins.length > 1) return
  throw new Conflict(
    `${member.email} is the last admin of the workspace: make another member admin first`,
    "last_admin",
  )
}
