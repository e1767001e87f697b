/** The format of requests and replies about previews. */
import { z } from "@hono/zod-openapi"
import { secrets } from "../deployments/fields.js"
import { optionalParameter, text, uuid } from "../http/fields.js"
import { pageQuery } from "../http/page.js"
import { masked } from "../secrets/secret.js"
import { defaultSettings, type Preview, previewStates } from "./preview.js"
import type { SettingsRow } from "./queries.js"

export const settingsFields = {
  is_enabled: z.boolean().nullish().openapi({ default: defaultSettings.is_enabled }),
  max_previews: z
    .int()
    .min(1)
    .max(100)
    .nullish()
    .openapi({ default: defaultSettings.max_previews, description: "most previews of the repository at a time" }),
  ttl_days: z
    .int()
    .min(1)
    .max(365)
    .nullish()
    .openapi({ default: defaultSettings.ttl_days, description: "days after the last push until a preview is deleted" }),
  approve_label: text.min(1).max(100).nullish().openapi({
    default: defaultSettings.approve_label,
    description: "label that approves the newest commit of a fork's pull request",
  }),
  secrets: secrets
    .nullish()
    .openapi({ description: "the secrets of previews, which get none of the deployment's own; absent: unchanged" }),
}
export const settingsBody = z.object(settingsFields)

export const settingsReply = z
  .object({
    deployment_id: z.string(),
    is_enabled: z.boolean(),
    max_previews: z.int(),
    ttl_days: z.int(),
    approve_label: z.string(),
    secrets: z.array(z.object({ name: z.string(), value: z.string() })),
    updated_at: z.iso.datetime(),
  })
  .openapi("PreviewSettings")

export const renderSettings = (row: SettingsRow): z.input<typeof settingsReply> => ({
  deployment_id: row.deployment_id,
  is_enabled: row.is_enabled,
  max_previews: row.max_previews,
  ttl_days: row.ttl_days,
  approve_label: row.approve_label,
  secrets: masked(row.secret_names),
  updated_at: row.updated_at.toISOString(),
})

export const previewQuery = z.object({
  ...pageQuery,
  deployment_id: optionalParameter(uuid).openapi({ description: "only previews of this deployment" }),
  state: optionalParameter(z.enum(previewStates)),
})

export const approvalFields = {
  sha: z
    .string()
    .regex(/^[0-9a-f]{40}$/, "expected a full commit id")
    .nullish()
    .openapi({ description: "the commit that was reviewed; 409 when there is a newer one" }),
}
export const approvalBody = z.object(approvalFields)

export const previewReply = z
  .object({
    id: z.string(),
    parent_deployment_id: z.string().nullable(),
    deployment_id: z
      .string()
      .nullable()
      .openapi({ description: "the preview's own deployment; null while it has none" }),
    number: z.int(),
    title: z.string(),
    is_fork: z.boolean(),
    head_sha: z.string().nullable(),
    approved_sha: z.string().nullable(),
    state: z.enum(previewStates),
    reason: z.string().nullable(),
    pushed_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .openapi("Preview")

export const renderPreview = (row: Preview): z.input<typeof previewReply> => ({
  id: row.preview_id,
  parent_deployment_id: row.parent_id,
  deployment_id: row.deployment_id,
  number: row.number,
  title: row.title,
  is_fork: row.is_fork,
  head_sha: row.head_sha,
  approved_sha: row.approved_sha,
  state: row.state,
  reason: row.reason,
  pushed_at: row.pushed_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
