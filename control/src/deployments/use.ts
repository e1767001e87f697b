/** The amounts that a deployment counts for in its workspace's quotas (Q2, Q3). Pure. */

import { type Amounts, nothing } from "../quotas/quota.js"
import type { SourceConfig } from "../revisions/source-config.js"
import { replicasOf } from "./deployment.js"
import { unitLimitsOf } from "./unit-limits.js"

/** @param present  the units that it has now: more than it asks for, when its load needs them */
export function useOf(config: Pick<SourceConfig, "resource_spec">, present = 0): Amounts {
  const units = Math.max(replicasOf(config), present)
  const { memoryMb, cpu } = unitLimitsOf(config.resource_spec)
  return { ...nothing, deployments: 1, units, memory_mb: units * memoryMb, cpu: units * cpu }
}
