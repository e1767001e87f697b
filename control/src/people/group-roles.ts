/**
 * Roles by groups of the OIDC provider (P8): at each sign-in, the groups that the provider says decide the memberships of the workspaces that the
 * setting names, or named, except those that an invitation or an admin gave.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { insertEntry } from "../audit/queries.js"
import type { SignInRequest } from "../console/operations.js"
import { wakeRoutes } from "../revisions/wake-up.js"
import { type Role, roles } from "../workspaces/workspace.js"
import type { Identified } from "./oidc/provider.js"
import type { GroupRoles } from "./oidc/settings.js"
import { changeRole, newEdgeHash, removeMember } from "./operations.js"
import { insertMember, lockWorkspacesOfGroups, memberById, type PersonRow } from "./queries.js"

/** What a person's groups give in a workspace; no role where they give none. */
export interface GivenRole {
  readonly workspaceId: string
  readonly role: Role | undefined
}

/**
 * Also locks these workspaces, since a membership that ends locks its workspace before the person.
 * @returns  the highest role of the person's groups for each workspace that the setting names, and none for each that it names no more and where
 *           the person is still a member by group
 */
export async function rolesOfGroups(tx: Db, groupRoles: GroupRoles, identity: Identified): Promise<GivenRole[]> {
  const workspaces = await lockWorkspacesOfGroups(tx, Object.keys(groupRoles), identity)
  return workspaces.map(({ workspace_id: workspaceId, name }) => {
    const byGroup = (Object.hasOwn(groupRoles, name) && groupRoles[name]) || {}
    const held = identity.groups.flatMap((group) => (Object.hasOwn(byGroup, group) ? [byGroup[group]] : []))
    return { workspaceId, role: roles.findLast((role) => held.includes(role)) }
  })
}

/** @returns  whether something has changed */
export async function applyGroupRoles(
  tx: Db,
  person: PersonRow,
  given: readonly GivenRole[],
  request: SignInRequest,
): Promise<boolean> {
  let hasChanged = false
  for (const each of given) {
    const action = await applied(tx, person, each)
    if (action === undefined) continue
    hasChanged = true
    await insertEntry(tx, {
      workspaceId: each.workspaceId,
      actor: { personId: person.person_id, name: person.name, email: person.email },
      ip: request.ip,
      action,
      path: request.path,
      resourceType: "member",
      resourceId: person.person_id,
      resourceName: person.email,
      requestId: request.requestId,
    })
  }
  return hasChanged
}

/** @returns  what was done, for the audit log */
async function applied(tx: Db, person: PersonRow, { workspaceId, role }: GivenRole): Promise<string | undefined> {
  const personId = person.person_id
  const member = await memberById(tx, workspaceId, personId)
  if (!member) {
    if (role === undefined) return undefined
    await insertMember(tx, { workspaceId, personId, role, edgeSha256: newEdgeHash(), isByGroup: true })
    await wakeRoutes(tx)
    return `joined by group as ${role}`
  }
  if (!member.is_by_group || member.role === role) return undefined
  try {
    if (role === undefined) await removeMember(tx, workspaceId, personId)
    else await changeRole(tx, { workspaceId, personId, role, isByGroup: true })
  } catch (error) {
    // The last admin stays (P5), and signs in.
    if (error instanceof Conflict) return undefined
    throw error
  }
  return role === undefined ? "left with the group" : `changed role by group to ${role}`
}
