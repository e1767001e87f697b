/** HTTP for the members of a workspace and their invitations. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import { recordCreated, recordName } from "../audit/current-write.js"
import { uuid } from "../http/fields.js"
import { ignoredFieldsOf, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { pageOf, pageQuery, pageReply, sendPage } from "../http/page.js"
import { changeRole, findMember, invite, removeMember, withdrawInvitation } from "./operations.js"
import { invitationsOf, membersOf } from "./queries.js"
import {
  createdInvitation,
  invitationBody,
  invitationFields,
  invitationReply,
  memberPatch,
  memberPatchFields,
  memberReply,
  renderInvitation,
  renderMember,
} from "./schema.js"

interface PeopleRoutes {
  readonly db: Database
  readonly log: Log
  /** Gives the edge the rights of all callers as they are stored now. */
  readonly publishRoutes: () => Promise<void>
  /** The address that people use, if it differs from the one that the caller uses. */
  readonly publicUrl?: string | undefined
}

/** So that the person's next request at an agent meets an edge that knows. */
const publish = ({ publishRoutes, log }: PeopleRoutes): Promise<void> =>
  publishRoutes().catch((err: unknown) =>
    log.warn({ err }, "the edge did not take the rights of members; it is tried again in the background"),
  )

export function addPeopleRoutes(api: Api, options: PeopleRoutes): void {
  addMembers(api, options)
  addMemberChanges(api, options)
  addInvitations(api, options)
}

const oneMember = { path: "/v2/members/{person_id}", params: z.object({ person_id: uuid }) } as const
const noMember = { 404: { description: "the workspace has no such member" } } as const
const lastAdmin = { 409: { description: "it is the last admin of the workspace (`last_admin`)" } } as const

function addMembers(api: Api, { db }: PeopleRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/members",
    summary: "Lists the people of the workspace with their roles, the earliest first.",
    query: z.object(pageQuery),
    responses: { 200: { description: "a page of members", schema: pageReply(memberReply) } },
    handle: async ({ c, query }) => {
      const page = pageOf(query)
      const members = await membersOf(db, c.get("caller").workspaceId)
      const resources = members.slice(page.offset, page.offset + page.limit).map(renderMember)
      return sendPage(c, page, { resources, total: members.length })
    },
  })
  addRoute(api, {
    ...oneMember,
    method: "get",
    summary: "Reads a member of the workspace.",
    responses: { 200: { description: "the member", schema: memberReply }, ...noMember },
    handle: async ({ c, params }) =>
      c.json(renderMember(await findMember(db, c.get("caller").workspaceId, params.person_id))),
  })
}

function addMemberChanges(api: Api, options: PeopleRoutes): void {
  const { db, log } = options
  addRoute(api, {
    ...oneMember,
    method: "patch",
    summary: "Changes a member's role, from the next request on.",
    body: memberPatch,
    responses: { 200: { description: "the member", schema: memberReply }, ...noMember, ...lastAdmin },
    handle: async ({ c, params, body, bodyText }) => {
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, memberPatchFields))
      const { workspaceId, actor: changedBy } = c.get("caller")
      const member = await db.transaction(async (tx) => {
        const wanted = { workspaceId, personId: params.person_id, role: body.role, changedBy }
        const changed = await changeRole(tx, wanted)
        recordName(changed.email)
        return changed
      })
      log.info({ person_id: member.person_id, role: member.role }, "role changed")
      await publish(options)
      return c.json(renderMember(member))
    },
  })
  addRoute(api, {
    ...oneMember,
    method: "delete",
    summary: "Removes a member: their sessions here and their tokens for agents end at once.",
    params: oneMember.params,
    responses: { 204: { description: "removed" }, ...noMember, ...lastAdmin },
    handle: async ({ c, params }) => {
      const { workspaceId, actor } = c.get("caller")
      await db.transaction(async (tx) => {
        const removed = await removeMember(tx, workspaceId, params.person_id, actor)
        recordName(removed.email)
      })
      log.info({ person_id: params.person_id }, "member removed")
      await publish(options)
      return c.body(null, 204)
    },
  })
}

/** No `Idempotency-Key` here: to repeat the reply, the link itself would have to be stored. */
function addInvitations(api: Api, { db, log, publicUrl }: PeopleRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/invitations",
    summary: "Lists the invitations that can still be accepted, the newest first.",
    query: z.object(pageQuery),
    responses: { 200: { description: "a page of invitations", schema: pageReply(invitationReply) } },
    handle: async ({ c, query }) => {
      const page = pageOf(query)
      const all = await invitationsOf(db, c.get("caller").workspaceId)
      const resources = all.slice(page.offset, page.offset + page.limit).map(renderInvitation)
      return sendPage(c, page, { resources, total: all.length })
    },
  })
  addRoute(api, {
    method: "post",
    path: "/v2/invitations",
    summary: "Invites a person with a role; the link in the reply is shown only once.",
    body: invitationBody,
    responses: { 201: { description: "the invitation", schema: createdInvitation } },
    handle: async ({ c, body, bodyText }) => {
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, invitationFields))
      const { workspaceId, actor: invitedBy } = c.get("caller")
      const { invitation, token } = await db.transaction(async (tx) => {
        const created = await invite(tx, { workspaceId, email: body.email, role: body.role, invitedBy })
        recordCreated(renderInvitation(created.invitation))
        return created
      })
      log.info({ invitation_id: invitation.invitation_id, role: invitation.role }, "person invited")
      const base = (publicUrl && withoutEnd(publicUrl, "/")) ?? new URL(c.req.url).origin
      c.header("cache-control", "no-store")
      return c.json({ ...renderInvitation(invitation), url: `${base}/sign-in#invitation=${token}` }, 201)
    },
  })
  addRoute(api, {
    method: "delete",
    path: "/v2/invitations/{invitation_id}",
    summary: "Withdraws an invitation: its link no longer works.",
    params: z.object({ invitation_id: uuid }),
    responses: {
      204: { description: "withdrawn" },
      404: { description: "there is none, or it was accepted or has expired" },
    },
    handle: async ({ c, params }) => {
      const { workspaceId } = c.get("caller")
      await db.transaction((tx) => withdrawInvitation(tx, workspaceId, params.invitation_id))
      return c.body(null, 204)
    },
  })
}
