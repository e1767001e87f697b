/** The format of requests and replies about members and invitations. */
import { z } from "@hono/zod-openapi"
import { line } from "../http/fields.js"
import { roles } from "../workspaces/workspace.js"
import type { InvitationRow, MemberRow } from "./queries.js"

const role = z.enum(roles).openapi({
  description:
    "read: see; run: also start runs; approve: also answer what agents ask and change states of threads; deploy: also change deployments and secrets; admin: everything",
})
const email = z.email("expected an e-mail address").max(320)

export const invitationFields = { email, role }
export const invitationBody = z.object(invitationFields)

export const memberPatchFields = { role }
export const memberPatch = z.object(memberPatchFields)

export const memberReply = z
  .object({
    person_id: z.string(),
    email: z.string(),
    name: z.string(),
    role: z.enum(roles),
    by_group: z
      .boolean()
      .openapi({ description: "groups of the OIDC provider gave the role, and change it at each sign-in" }),
    created_at: z.iso.datetime().openapi({ description: "when the person became a member" }),
    signed_in_at: z.iso.datetime().openapi({ description: "the last sign-in" }),
  })
  .openapi("Member")

export const renderMember = (it: MemberRow) => ({
  person_id: it.person_id,
  email: it.email,
  name: it.name,
  role: it.role,
  by_group: it.is_by_group,
  created_at: it.created_at,
  signed_in_at: it.signed_in_at,
})

export const invitationReply = z
  .object({
    id: z.string(),
    email: z.string(),
    role: z.enum(roles),
    invited_by: z.string().openapi({ description: "`person:<id>` or `api_key:<id>`" }),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().openapi({ description: "7 days after its creation" }),
  })
  .openapi("Invitation")

export const createdInvitation = invitationReply.extend({
  url: z.url().openapi({ description: "the link for the invited person; it works once, and is not shown again" }),
})

export const renderInvitation = (it: InvitationRow) => ({
  id: it.invitation_id,
  email: it.email,
  role: it.role,
  invited_by: it.invited_by,
  created_at: it.created_at,
  expires_at: it.expires_at,
})

const token = z.string().min(1).max(500)

export const linkBody = z.object({
  invitation: token,
  name: line.refine((text) => text.length > 0 && text.length <= 200, "expected a name of at most 200 characters"),
})

export const startBody = z.object({
  invitation: token.optional(),
  next: z.string().max(2000).optional().openapi({ description: "the page of the console to show after signing in" }),
})
export const startReply = z.object({
  url: z.url().openapi({ description: "the provider's page; the reply's cookie belongs to this attempt" }),
})

export const waysReply = z.object({
  provider: z
    .object({ name: z.string() })
    .nullable()
    .openapi({ description: "the OIDC provider with which people sign in; null where none is set" }),
})
