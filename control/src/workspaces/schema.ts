/** The format of requests and replies about API keys. */
import { z } from "@hono/zod-openapi"
import { text } from "../http/fields.js"
import { type ApiKey, scopes } from "./workspace.js"

export const keyFields = {
  name: text.min(1).max(255),
  scopes: z.array(z.enum(scopes)).min(1).nullish().openapi({
    description:
      "rights of the key: every key may read; run also calls agents; deploy also changes deployments; secrets reads and changes secrets; admin (default) may do everything",
  }),
  expires_at: z.iso
    .datetime({ offset: true })
    .nullish()
    .openapi({ description: "when the key expires; never by default" }),
}
export const keyBody = z.object(keyFields)

export const keyReply = z
  .object({
    id: z.string(),
    name: z.string(),
    prefix: z.string().openapi({ description: "the key's first characters" }),
    scopes: z.array(z.enum(scopes)),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
    revoked_at: z.iso.datetime().nullable(),
    last_used_at: z.iso
      .datetime()
      .nullable()
      .openapi({ description: "accurate to the minute; calls of agents do not count" }),
    created_by: z.string().nullable().openapi({
      description:
        "who made it: `person:<id>` or `api_key:<id>`; null for the `superstep` command, the first start and keys of earlier releases",
    }),
    created_by_name: z.string().nullable().openapi({ description: "the present name of that person or key" }),
  })
  .openapi("ApiKey")

export const createdKeyReply = keyReply.extend({
  key: z.string().openapi({ description: "the key itself; it is not shown again" }),
})

export const renderKey = (key: ApiKey) => ({
  id: key.api_key_id,
  name: key.name,
  prefix: key.prefix,
  scopes: key.scopes,
  created_at: key.created_at,
  expires_at: key.expires_at,
  revoked_at: key.revoked_at,
  last_used_at: key.last_used_at,
  created_by: key.created_by,
  created_by_name: key.created_by_name,
})
