/** Named sizes: the `resource_spec` that a tier stands for (control-plane §1.4). Pure. */
import { z } from "zod"
import { resourceSpec } from "../revisions/resource-spec.js"
import type { ResourceSpec } from "../revisions/source-config.js"

export const resourceTierNames = [
  "SERVERLESS_S",
  "SERVERLESS_M",
  "SERVERLESS_L",
  "DEDICATED_S",
  "DEDICATED_M",
  "DEDICATED_L",
] as const
export type ResourceTier = (typeof resourceTierNames)[number]

const presets = z.partialRecord(z.enum(resourceTierNames), resourceSpec)

/** `SUPERSTEP_RESOURCE_TIERS`: presets that replace ours, tier by tier. */
export const resourceTiersSchema = z.strictObject({ compute: presets.optional(), database: presets.optional() })
export type ResourceTiersSetting = z.infer<typeof resourceTiersSchema>

export interface ResourceTiers {
  readonly compute: Readonly<Record<ResourceTier, ResourceSpec>>
  readonly database: Readonly<Record<ResourceTier, ResourceSpec>>
}

const compute = (min_scale: number, max_scale: number, cpu: number, memory_mb: number): ResourceSpec => ({
  min_scale,
  max_scale,
  cpu,
  memory_mb,
})
const database = (db_cpu: number, db_memory_mb: number, db_storage_gi: number): ResourceSpec => ({
  db_cpu,
  db_memory_mb,
  db_storage_gi,
})

/** A serverless tier may sleep; a dedicated one always runs. */
export const defaultResourceTiers: ResourceTiers = {
  compute: {
    SERVERLESS_S: compute(0, 1, 0.5, 512),
    SERVERLESS_M: compute(0, 1, 1, 1024),
    SERVERLESS_L: compute(0, 2, 2, 2048),
    DEDICATED_S: compute(1, 1, 1, 1024),
    DEDICATED_M: compute(1, 2, 2, 2048),
    DEDICATED_L: compute(2, 4, 4, 4096),
  },
  database: {
    SERVERLESS_S: database(0.25, 256, 1),
    SERVERLESS_M: database(0.5, 512, 5),
    SERVERLESS_L: database(1, 1024, 10),
    DEDICATED_S: database(1, 1024, 10),
    DEDICATED_M: database(2, 4096, 50),
    DEDICATED_L: database(4, 8192, 100),
  },
}

export const resourceTiersOf = (setting: ResourceTiersSetting | undefined): ResourceTiers => ({
  compute: { ...defaultResourceTiers.compute, ...setting?.compute },
  database: { ...defaultResourceTiers.database, ...setting?.database },
})

/** The part of a `resource_spec` that the tiers set. */
export const tierResources = (
  tiers: ResourceTiers,
  { computeTier, databaseTier }: { computeTier?: ResourceTier | undefined; databaseTier?: ResourceTier | undefined },
): ResourceSpec => ({
  ...(computeTier && tiers.compute[computeTier]),
  ...(databaseTier && tiers.database[databaseTier]),
})
