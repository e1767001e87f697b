/** The format of requests and replies about sessions of the console. */
import { z } from "@hono/zod-openapi"
import { type Caller, roles, scopes } from "../workspaces/workspace.js"
import type { Proof, Session } from "./operations.js"
import type { ListedSession } from "./queries.js"

const secretText = z.string().min(1).max(500)

export const signInBody = z
  .union([z.strictObject({ code: secretText }), z.strictObject({ api_key: secretText })], {
    error: "expected either a code or an api_key",
  })
  .openapi({ description: "a one-time code or an API key" })

/** @param browser  from the cookie of a return from the provider */
export const proofOf = (body: z.output<typeof signInBody>, browser: string | undefined): Proof =>
  "code" in body ? { code: body.code, browser } : { apiKey: body.api_key }

const person = z.object({ person_id: z.string(), name: z.string(), email: z.string() })

export const sessionReply = z
  .object({
    session_id: z.string(),
    person: person.nullable().openapi({ description: "whose it is; null when it stands for an API key" }),
    workspaces: z
      .array(
        z.object({
          workspace_id: z.string(),
          name: z.string(),
          role: z.enum(roles).nullable().openapi({ description: "of the person; null for an API key" }),
          scopes: z.array(z.enum(scopes)).openapi({ description: "rights in this workspace" }),
          may_approve: z.boolean().openapi({ description: "may answer what agents ask, and change states of threads" }),
        }),
      )
      .openapi({ description: "those that requests may name by X-Tenant-Id" }),
    scopes: z
      .array(z.enum(scopes))
      .openapi({ description: "rights of the API key, or of the person in the first workspace" }),
    is_operator: z.boolean().openapi({ description: "it is a key of the installation" }),
    key_prefix: z.string().nullable().openapi({ description: "of the API key; null for a person" }),
    expires_at: z.iso.datetime().openapi({ description: "when it ends at the latest; unused, it ends after 12 hours" }),
  })
  .openapi("ConsoleSession")

export const renderSession = ({ sessionId, actor, workspaces, scopes: held, isOperator, expiresAt }: Session) => ({
  session_id: sessionId,
  person: "personId" in actor ? { person_id: actor.personId, name: actor.name, email: actor.email } : null,
  workspaces: workspaces.map(({ mayApprove: may_approve, ...workspace }) => ({ ...workspace, may_approve })),
  scopes: held,
  is_operator: isOperator,
  key_prefix: "keyPrefix" in actor ? actor.keyPrefix : null,
  expires_at: expiresAt,
})

export const listedSession = z
  .object({
    id: z.string(),
    is_own: z.boolean().openapi({ description: "it is the caller's" }),
    person: person.nullable(),
    key_prefix: z
      .string()
      .nullable()
      .openapi({ description: "of the API key that it stands for; null for a person's" }),
    created_at: z.iso.datetime(),
    last_used_at: z.iso.datetime().openapi({ description: "accurate to the minute" }),
    expires_at: z.iso.datetime(),
    ip: z.string().nullable().openapi({ description: "from where the person signed in" }),
    user_agent: z.string().nullable().openapi({ description: "with which browser" }),
  })
  .openapi("ListedSession")

export const renderListed = (it: ListedSession, { actor }: Caller) => ({
  id: it.session_id,
  is_own: "personId" in actor ? it.person_id === actor.personId : it.api_key_id === actor.apiKeyId,
  person: it.person_id === null ? null : { person_id: it.person_id, name: it.name ?? "", email: it.email ?? "" },
  key_prefix: it.prefix,
  created_at: it.created_at,
  last_used_at: it.last_used_at,
  expires_at: it.expires_at,
  ip: it.ip,
  user_agent: it.user_agent,
})

export const codeReply = z.object({
  code: z.string().openapi({ description: "works once, for 10 minutes" }),
  url: z.url().openapi({ description: "the page that signs in with it" }),
  expires_at: z.iso.datetime(),
})
