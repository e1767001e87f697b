/** The format of requests and replies about listeners (control-plane §1.3). */
import { z } from "@hono/zod-openapi"
import { text } from "../http/fields.js"
import type { Listener } from "./listener.js"

const computeConfig = z.object({ k8s_namespaces: z.array(text.min(1).max(63)).max(100).nullable() })

export const listenerFields = {
  compute_type: z.enum(["k8s"]),
  compute_id: text.min(1).max(255),
  compute_config: computeConfig,
}
export const listenerBody = z.object(listenerFields)

export const listenerPatchFields = { version: text.min(1).max(255).nullish(), compute_config: computeConfig.nullish() }
export const listenerPatch = z.object(listenerPatchFields)

export const listenerReply = z
  .object({
    id: z.string(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    version: z.string().nullable().openapi({ description: "the release of its installation" }),
    last_seen_at: z.iso
      .datetime()
      .nullable()
      .openapi({ description: "when its installation called last, accurate to ten seconds; null: never" }),
    compute_type: z.enum(["k8s"]),
    compute_id: z.string(),
    compute_config: z.object({ k8s_namespaces: z.array(z.string()).nullable() }),
  })
  .openapi("Listener")

export const renderListener = (row: Listener) => ({
  id: row.listener_id,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  version: row.version,
  last_seen_at: row.last_seen_at?.toISOString() ?? null,
  compute_type: row.compute_type,
  compute_id: row.compute_id,
  compute_config: row.compute_config,
})
