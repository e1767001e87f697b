/** Checks the quotas of the workspace before a deployment is stored or its resources change. */
import type { Db } from "@superstep/toolkit/db/database"
import { type QuotaRules, requireQuota } from "../quotas/operations.js"
import { difference, nothing } from "../quotas/quota.js"
import type { SourceConfig } from "./deployment.js"
import { findUnits } from "./queries.js"
import { useOf } from "./use.js"

/**
 * @param current  the deployment's present amounts; undefined for a new one
 * @throws Conflict  `quota_exceeded`
 */
export const requireRoom = (
  tx: Db,
  rules: QuotaRules,
  { workspaceId, wanted, current }: { workspaceId: string; wanted: SourceConfig; current?: SourceConfig | undefined },
): Promise<void> =>
  requireQuota(tx, rules, workspaceId, difference(useOf(wanted), current === undefined ? nothing : useOf(current)))

/**
 * Room for one more unit than now serve a deployment.
 * @throws Conflict  `quota_exceeded`
 */
export async function requireRoomForUnit(tx: Db, rules: QuotaRules, deploymentId: string): Promise<void> {
  const now = await findUnits(tx, deploymentId)
  if (!now) return
  const { workspace_id, source_config: config, units } = now
  await requireQuota(tx, rules, workspace_id, difference(useOf(config, units + 1), useOf(config, units)))
}
