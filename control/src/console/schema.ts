/** The format of requests and replies about sessions of the console. */
import { z } from "@hono/zod-openapi"
import { scopes } from "../workspaces/workspace.js"
import type { Proof, Session } from "./operations.js"

const secretText = z.string().min(1).max(500)

export const signInBody = z
  .union([z.strictObject({ code: secretText }), z.strictObject({ api_key: secretText })], {
    error: "expected either a code or an api_key",
  })
  .openapi({ description: "a one-time code or an API key" })

export const proofOf = (body: z.output<typeof signInBody>): Proof =>
  "code" in body ? { code: body.code } : { apiKey: body.api_key }

export const sessionReply = z
  .object({
    workspaces: z
      .array(z.object({ workspace_id: z.string(), name: z.string() }))
      .openapi({ description: "those that requests may name by X-Tenant-Id" }),
    scopes: z.array(z.enum(scopes)).openapi({ description: "rights of the API key that the session stands for" }),
    is_operator: z.boolean().openapi({ description: "it is a key of the installation" }),
    key_prefix: z.string(),
    expires_at: z.iso.datetime().openapi({ description: "when it ends at the latest; unused, it ends after 12 hours" }),
  })
  .openapi("ConsoleSession")

export const renderSession = ({ workspaces, scopes: held, isOperator, keyPrefix, expiresAt }: Session) => ({
  workspaces,
  scopes: held,
  is_operator: isOperator,
  key_prefix: keyPrefix,
  expires_at: expiresAt,
})

export const codeReply = z.object({
  code: z.string().openapi({ description: "works once, for 10 minutes" }),
  url: z.url().openapi({ description: "the page that signs in with it" }),
  expires_at: z.iso.datetime(),
})
