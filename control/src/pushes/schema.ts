/** The format of requests and replies about webhooks; a reply never contains a secret. */
import { z } from "@hono/zod-openapi"
import { text } from "../http/fields.js"
import { providers } from "./push.js"
import type { WebhookRow } from "./queries.js"

export const deliveryReply = z
  .object({
    result: z.enum(["accepted", "ignored"]),
    detail: z.string(),
    is_repeated: z
      .boolean()
      .openapi({ description: "true: the delivery was received before, and this one had no effect" }),
    deployments: z.array(
      z.object({
        deployment_id: z.string(),
        name: z.string(),
        result: z.enum(["accepted", "ignored"]),
        detail: z.string(),
        revision_id: z.string().nullable(),
      }),
    ),
  })
  .openapi("GitDelivery")

// GitLab sends it in a header, which is one line.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const oneLine = /^[^\u0000-\u001f\u007f]+$/
const secret = text.regex(oneLine, "expected one line of text").min(16).max(1024)

export const webhookFields = {
  provider: z.enum(providers).nullish().openapi({ description: "required unless the host is well known" }),
  secrets: z
    .array(secret)
    .max(2)
    .nullish()
    .openapi({ description: "each is accepted; send the old and the new one while you change the secret at the host" }),
}
export const webhookBody = z.object(webhookFields)

export const webhookReply = z
  .object({
    integration_id: z.string(),
    provider: z.enum(providers),
    secrets: z.int().openapi({ description: "the number of stored secrets" }),
    path: z.string().openapi({ description: "the path for the host's deliveries, below the address of this API" }),
    updated_at: z.iso.datetime(),
  })
  .openapi("IntegrationWebhook")

export const renderWebhook = (row: WebhookRow): z.input<typeof webhookReply> => ({
  integration_id: row.integration_id,
  provider: row.provider,
  secrets: row.secrets_sealed.length,
  path: `/v1/integrations/${row.provider}/webhook?integration_id=${row.integration_id}`,
  updated_at: row.updated_at.toISOString(),
})
