/**
 * Roles by groups of the OIDC provider (P8): at each sign-in, the groups that the provider says decide the memberships of the workspaces that the
 * setting names, except those that an invitation or an admin gave.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { insertEntry } from "../audit/queries.js"
import type { SignInRequest } from "../console/operations.js"
import { wakeRoutes } from "../revisions/wake-up.js"
import { lockNames, workspaceByName } from "../workspaces/queries.js"
import { type Role, roles } from "../workspaces/workspace.js"
import type { GroupRoles } from "./oidc/settings.js"
import { changeRole, newEdgeHash, removeMember } from "./operations.js"
import { insertMember, memberById, type PersonRow } from "./queries.js"

/** What a person's groups give in a workspace; no role where they give none. */
export interface GivenRole {
  readonly workspaceId: string
  readonly role: Role | undefined
}

/**
 * Also locks these workspaces, since a membership that ends locks its workspace before the person.
 * @returns  for each workspace of the setting that exists, the highest role of the person's groups
 */
export async function rolesOfGroups(tx: Db, groupRoles: GroupRoles, groups: readonly string[]): Promise<GivenRole[]> {
  const given: GivenRole[] = []
  for (const [name, byGroup] of Object.entries(groupRoles).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const workspace = await workspaceByName(tx, name)
    if (!workspace) continue
    await lockNames(tx, workspace.workspace_id)
    const held = groups.flatMap((group) => (Object.hasOwn(byGroup, group) ? [byGroup[group]] : []))
    given.push({ workspaceId: workspace.workspace_id, role: roles.findLast((role) => held.includes(role)) })
  }
  return given
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
