/** Invites people, makes them members, and changes and ends memberships. Rules P1–P6: README.md. */
import { randomBytes } from "node:crypto"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, Forbidden, NotFound, Unauthenticated } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { type Actor, actorText } from "../audit/audit-entry.js"
import { insertEntry } from "../audit/queries.js"
import {
  type BoundCode,
  createBoundCode,
  type OpenedSession,
  openSessionOf,
  type SignInRequest,
} from "../console/operations.js"
import { deleteSessionsOfStranger, lockHolder } from "../console/queries.js"
import { newSecret, secretHash } from "../console/session.js"
import { wakeRoutes } from "../revisions/wake-up.js"
import { lockNames } from "../workspaces/queries.js"
import { type Role, roles } from "../workspaces/workspace.js"
import type { Identified } from "./oidc/provider.js"
import {
  deleteInvitation,
  deleteInvitationsOf,
  deleteMember,
  type Identity,
  type InvitationRow,
  insertInvitation,
  insertMember,
  isMember,
  type MemberRow,
  memberById,
  membersOf,
  type PersonRow,
  savePerson,
  setRole,
  takeInvitation,
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
  await lockNames(tx, workspaceId)
  if ("personId" in invitedBy && (await memberById(tx, workspaceId, invitedBy.personId))?.role !== "admin") {
    throw new Forbidden("inviting people needs the role admin", "scope_missing")
  }
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

/** @throws NotFound */
export async function withdrawInvitation(tx: Db, workspaceId: string, id: string): Promise<void> {
  if ((await deleteInvitation(tx, workspaceId, id)) === 0) throw new NotFound(`Invitation ID ${id} not found.`)
}

export interface SignedIn {
  readonly identity: Identified
  /** The token of an invitation that the person followed. */
  readonly invitation: string | undefined
  readonly request: SignInRequest
}

/**
 * Signs in a person whom the provider has identified, as a code for the sign-in page; with an invitation, makes them a member first (P3).
 * @throws Unauthenticated  `invitation_invalid`
 * @throws Forbidden        `invitation_of_another`, `email_unverified`, or `not_a_member`: nothing is stored then
 */
export const signInIdentified = (
  db: Database,
  { identity, invitation: token, request }: SignedIn,
): Promise<BoundCode & { readonly person: PersonRow; readonly joined: string | undefined }> =>
  db.transaction(async (tx) => {
    const invitation = token === undefined ? undefined : await taken(tx, token)
    if (invitation) requireSameAddress(identity, invitation)
    const person = await saved(tx, identity)
    if (invitation) await join(tx, person, invitation, request)
    if (!(await isMember(tx, person.person_id))) {
      throw new Forbidden(
        `${identity.email} belongs to no workspace: ask an admin of a workspace for an invitation`,
        "not_a_member",
      )
    }
    const workspaceId = invitation?.workspace_id ?? null
    return {
      ...(await createBoundCode(tx, person.person_id, workspaceId)),
      person,
      joined: workspaceId ?? undefined,
    }
  })

/** P4: without a provider the workspace itself vouches for the address, so an account is of one workspace. */
export const invitedIssuer = (workspaceId: string): string => `invitation:${workspaceId}`

export interface AcceptedLink {
  readonly token: string
  readonly name: string
  readonly formerIds: readonly string[]
  readonly request: SignInRequest
}

/** Signs in with the link of an invitation alone, where no provider is set (P4). @throws Unauthenticated  `invitation_invalid` */
export const signInByLink = (
  db: Database,
  { token, name, formerIds, request }: AcceptedLink,
): Promise<OpenedSession & { readonly joined: string }> =>
  db.transaction(async (tx) => {
    const invitation = await taken(tx, token)
    const { workspace_id: workspaceId, email } = invitation
    const person = await saved(tx, { issuer: invitedIssuer(workspaceId), subject: email, email, name })
    await join(tx, person, invitation, request)
    const opened = await openSessionOf(tx, { personId: person.person_id }, { formerIds, request })
    if (!opened) throw new Error("the session of a new member was not stored")
    return { ...opened, joined: workspaceId }
  })

async function taken(tx: Db, token: string): Promise<InvitationRow> {
  const invitation = await takeInvitation(tx, secretHash(token))
  if (invitation) return invitation
  throw new Unauthenticated(
    "this invitation is used, withdrawn or expired: ask for a new one, or sign in if you have accepted it",
    "invitation_invalid",
  )
}

/** An invitation is for one address, and the provider says whose it is. */
function requireSameAddress({ email, isEmailVerified }: Identified, invitation: InvitationRow): void {
  if (email.toLowerCase() !== invitation.email) {
    throw new Forbidden(
      `this invitation is for another address than ${email}: sign in with the account that was invited`,
      "invitation_of_another",
    )
  }
  if (isEmailVerified === false) {
    throw new Forbidden(`the provider has not verified ${email}: verify the address there first`, "email_unverified")
  }
}

async function saved(tx: Db, identity: Identity): Promise<PersonRow> {
  const person = await savePerson(tx, newId(), identity)
  if (!person) throw new Error("the account was not stored")
  return person
}

async function join(tx: Db, person: PersonRow, invitation: InvitationRow, request: SignInRequest): Promise<void> {
  const { person_id: personId, name, email } = person
  const { workspace_id: workspaceId, role, invitation_id: resourceId } = invitation
  await insertMember(tx, { workspaceId, personId, role, edgeSha256: newEdgeHash() })
  await insertEntry(tx, {
    workspaceId,
    actor: { personId, name, email },
    ip: request.ip,
    action: "accepted invitation",
    path: request.path,
    resourceType: "invitation",
    resourceId,
    resourceName: email,
    requestId: request.requestId,
  })
  await wakeRoutes(tx)
}

/** Nothing has this hash: it is random, so no key and no other member can be found by it. */
const newEdgeHash = (): string => randomBytes(32).toString("hex")

/** @throws NotFound */
export async function findMember(db: Db, workspaceId: string, personId: string): Promise<MemberRow> {
  const member = await memberById(db, workspaceId, personId)
  if (!member) throw new NotFound(`Member ID ${personId} not found.`)
  return member
}

/**
 * Changes a role. With a lower one the edge knows the member by another hash: so what they have open at agents ends, such as a WebSocket that
 * was opened with more rights (P6), and so do their invitations (P7).
 * @throws NotFound @throws Conflict  `last_admin` (P5)
 */
export async function changeRole(tx: Db, workspaceId: string, personId: string, role: Role): Promise<MemberRow> {
  await lockNames(tx, workspaceId)
  const member = await findMember(tx, workspaceId, personId)
  if (role !== "admin") await requireOtherAdmin(tx, workspaceId, member)
  const isLower = roles.indexOf(role) < roles.indexOf(member.role)
  if (isLower) await deleteInvitationsOf(tx, workspaceId, member)
  await setRole(tx, { workspaceId, personId, role, edgeSha256: isLower ? newEdgeHash() : undefined })
  await wakeRoutes(tx)
  return { ...member, role }
}

/**
 * Ends a membership: later requests in this workspace are refused, sessions end with the last membership (P6), and invitations end (P7).
 * @throws NotFound @throws Conflict  `last_admin` (P5)
 */
export async function removeMember(tx: Db, workspaceId: string, personId: string): Promise<MemberRow> {
  await lockNames(tx, workspaceId)
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
