/** The format of requests for the audit log and of their replies. */
import { z } from "@hono/zod-openapi"
import { optionalParameter, text, wholeNumber } from "../http/fields.js"
import type { AuditEntry } from "./audit-entry.js"

const time = z.iso.datetime({ offset: true }).transform((it) => new Date(it))

export const auditQuery = z.object({
  limit: optionalParameter(wholeNumber({ min: 1, max: 100 })).openapi({ type: "integer", default: 20 }),
  cursor: optionalParameter(wholeNumber({ min: 0, max: 999_999_999_999 })).openapi({ type: "string" }),
  actor: optionalParameter(text).openapi({ description: "such as person:<id> or api_key:<id>" }),
  action: optionalParameter(text).openapi({ description: "such as DELETE /v2/deployments/{deployment_id}" }),
  resource_type: optionalParameter(text),
  resource_id: optionalParameter(text),
  since: optionalParameter(time).openapi({ type: "string", format: "date-time" }),
  until: optionalParameter(time).openapi({ type: "string", format: "date-time" }),
})

const nullableText = z.string().nullable()

export const auditReply = z.object({
  resources: z.array(
    z
      .object({
        id: z.string(),
        seq: z.int(),
        at: z.iso.datetime(),
        actor: z.string().openapi({ description: "`person:<id>` or `api_key:<id>`" }),
        actor_name: nullableText.openapi({ description: "of a person, at that time; null for a key" }),
        key_prefix: nullableText,
        ip: nullableText,
        action: z.string(),
        path: z.string(),
        resource_type: nullableText,
        resource_id: nullableText,
        resource_name: nullableText.openapi({ description: "at that time; null where it has none" }),
        changed: z.array(z.string()).nullable().openapi({
          description:
            "names of the fields that changed, such as source_config.build_on_push; null when it was created or removed",
        }),
        before_hash: nullableText.openapi({
          description: "hash of the resource's row before the change; null when there was none",
        }),
        after_hash: nullableText,
        request_id: nullableText,
        prev_hash: nullableText,
        hash: z.string().openapi({ description: "hash of all other fields and of the previous entry's hash" }),
      })
      .openapi("AuditEntry"),
  ),
  next_cursor: nullableText.openapi({ description: "cursor of the next, older page; null on the last page" }),
})

export const verificationReply = z.object({
  valid: z.boolean(),
  entries: z.int(),
  head: nullableText.openapi({
    description: "the newest entry's hash: store it to detect later whether the newest entries were removed",
  }),
  broken_seq: z.int().nullable().openapi({
    description: "the first entry that was changed, or whose predecessor is missing; null when the chain is valid",
  }),
})

export const renderEntry = ({ audit_id, ...entry }: AuditEntry) => ({
  id: audit_id,
  seq: entry.seq,
  at: entry.at,
  actor: entry.actor,
  actor_name: entry.actor_name,
  key_prefix: entry.key_prefix,
  ip: entry.ip,
  action: entry.action,
  path: entry.path,
  resource_type: entry.resource_type,
  resource_id: entry.resource_id,
  resource_name: entry.resource_name,
  changed: entry.changed,
  before_hash: entry.before_hash,
  after_hash: entry.after_hash,
  request_id: entry.request_id,
  prev_hash: entry.prev_hash,
  hash: entry.hash,
})
