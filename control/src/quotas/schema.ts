/** The format of requests and replies about quotas. */
import { z } from "@hono/zod-openapi"
import type { QuotaStatus } from "./operations.js"
import { type QuotaName, quotaNames } from "./quota.js"

// No machine has more, and the columns can store it.
const whole = z.int().min(0).max(1_000_000_000).nullish()

export const quotaFields = {
  deployments: whole.openapi({ description: "most deployments; null restores the installation's default" }),
  units: whole.openapi({ description: "most units of all deployments, including sleeping ones" }),
  memory_mb: whole.openapi({ description: "most memory that these units may use, in megabytes" }),
  cpu: z.number().min(0).max(1_000_000).nullish().openapi({ description: "most processors that they may use" }),
  builds: z
    .int()
    .min(1)
    .max(1_000_000_000)
    .nullish()
    .openapi({ description: "most revisions that are fetched or built at once; more wait" }),
  disk_mb: whole.openapi({
    description: "most disk that artifacts, caches and uploaded archives of its deployments may use, in megabytes",
  }),
  host_names: whole.openapi({ description: "most host names of all its deployments" }),
}
export const quotaBody = z.object(quotaFields)

const quotaReply = z
  .object({
    limit: z.number(),
    used: z.number(),
    is_default: z.boolean().openapi({ description: "true when the operator has set no value for this workspace" }),
  })
  .openapi("Quota")

export const quotasReply = z
  .object({
    deployments: quotaReply,
    units: quotaReply,
    memory_mb: quotaReply,
    cpu: quotaReply,
    builds: quotaReply,
    disk_mb: quotaReply,
    host_names: quotaReply,
  })
  .openapi("Quotas")

type Rendered = Readonly<Record<QuotaName, z.infer<typeof quotaReply>>>

export const renderQuotas = ({ own, quotas, used }: QuotaStatus): Rendered =>
  Object.fromEntries(
    quotaNames.map((name) => [name, { limit: quotas[name], used: used[name], is_default: own[name] === null }]),
  ) as Rendered
