/** Signs people in: whom the provider has identified, and where none is set by the link of an invitation. Rules P2–P4 and P8: README.md. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Forbidden, Unauthenticated } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { insertEntry } from "../audit/queries.js"
import {
  type BoundCode,
  createBoundCode,
  type OpenedSession,
  openSessionOf,
  type SignInRequest,
} from "../console/operations.js"
import { secretHash } from "../console/session.js"
import { wakeRoutes } from "../revisions/wake-up.js"
import { applyGroupRoles, rolesOfGroups } from "./group-roles.js"
import type { Identified } from "./oidc/provider.js"
import type { GroupRoles } from "./oidc/settings.js"
import { newEdgeHash } from "./operations.js"
import {
  type Identity,
  type InvitationRow,
  insertMember,
  isMember,
  type PersonRow,
  savePerson,
  takeInvitation,
} from "./queries.js"

export interface SignedIn {
  readonly identity: Identified
  /** What the provider's groups give (P8). */
  readonly groupRoles: GroupRoles
  /** The token of an invitation that the person followed. */
  readonly invitation: string | undefined
  readonly request: SignInRequest
}

/**
 * Signs in a person whom the provider has identified, as a code for the sign-in page; with an invitation, makes them a member first (P3).
 * @throws Unauthenticated  `invitation_invalid`
 * @throws Forbidden        `invitation_of_another`, `email_unverified`, or `not_a_member`: nothing is stored then
 */
export async function signInIdentified(
  db: Database,
  { identity, groupRoles, invitation: token, request }: SignedIn,
): Promise<BoundCode & { readonly person: PersonRow; readonly hasNewRights: boolean }> {
  const signedIn = await db.transaction(async (tx) => {
    const given = await rolesOfGroups(tx, groupRoles, identity)
    const invitation = token === undefined ? undefined : await taken(tx, token)
    if (invitation) requireSameAddress(identity, invitation)
    const person = await saved(tx, identity)
    if (invitation) await join(tx, person, invitation, request)
    const isChanged = await applyGroupRoles(tx, person, given, request)
    if (await isMember(tx, person.person_id)) {
      const code = await createBoundCode(tx, person.person_id, invitation?.workspace_id ?? null)
      return { ...code, person, hasNewRights: invitation !== undefined || isChanged }
    }
    // A membership that has ended with its group must not return with the refusal.
    if (isChanged) return undefined
    throw notAMember(identity)
  })
  if (!signedIn) throw notAMember(identity)
  return signedIn
}

const notAMember = ({ email }: Identified): Forbidden =>
  new Forbidden(`${email} belongs to no workspace: ask an admin of a workspace for an invitation`, "not_a_member")

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
