/** What the deployments of a workspace use of its quotas, and the check before one is stored or its resources change. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { countHostNames } from "../host-names/queries.js"
import { diskUseOf } from "../quotas/disk-queries.js"
import { type DiskUse, type QuotaRules, readDiskUse } from "../quotas/operations.js"
import { ownQuotas } from "../quotas/queries.js"
import {
  type Amounts,
  difference,
  exceededBy,
  nothing,
  type QuotaName,
  quotaNames,
  quotasOf,
  sumOf,
} from "../quotas/quota.js"
import { claimedBuilds } from "../revisions/claims.js"
import type { SourceConfig } from "../revisions/source-config.js"
import { lockWorkspace } from "../workspaces/queries.js"
import { storeDiskUse } from "./carried-queries.js"
import { findUnits, sourceConfigsOf } from "./queries.js"
import { useOf } from "./use.js"

/** The present use of its quotas by a workspace's deployments and builds. */
export const usedIn = async (db: Db, workspaceId: string): Promise<Amounts> => ({
  ...sumOf((await sourceConfigsOf(db, workspaceId)).map(({ source_config, units }) => useOf(source_config, units))),
  builds: await claimedBuilds(db, workspaceId),
  disk_mb: await diskUseOf(db, workspaceId),
  host_names: await countHostNames(db, workspaceId),
})

const wordsFor: Readonly<Record<QuotaName, string>> = {
  deployments: "delete a deployment",
  units: "lower a min_scale, or delete a deployment",
  memory_mb: "lower a memory_mb or memory_limit_mb, or delete a deployment",
  cpu: "lower a cpu or cpu_limit, or delete a deployment",
  builds: "wait until a build has ended",
  disk_mb: "delete a deployment",
  host_names: "remove a host name",
}

/**
 * The one check of all quotas. Call it before a deployment is stored or its resources change: others of the workspace that
 * ask for more wait until the transaction ends.
 * @throws Conflict  `quota_exceeded`; it names the quota, its value, and the present use
 */
export async function requireQuota(
  tx: Db,
  { defaultQuotas }: QuotaRules,
  workspaceId: string,
  added: Amounts,
): Promise<void> {
  if (quotaNames.every((name) => added[name] <= 0)) return
  await lockWorkspace(tx, workspaceId)
  const quotas = quotasOf(await ownQuotas(tx, workspaceId), defaultQuotas)
  const used = await usedIn(tx, workspaceId)
  const name = exceededBy(quotas, used, added)
  if (name === undefined) return
  const facts = { quota: name, limit: quotas[name], used: used[name], added: added[name] }
  const has = `the quota ${name} of this workspace is ${facts.limit}: ${facts.used} are in use, and this request adds ${facts.added}`
  throw new Conflict(`${has}. ${sentence(wordsFor[name])}; the operator can raise it`, "quota_exceeded", facts)
}

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

const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)

/**
 * Stores what a deployment was measured to keep on disk. Of two builds of a workspace that end at once, the second sees the first.
 * @returns  the sum over its workspace
 */
export const recordDiskUse = (
  db: Database,
  it: {
    readonly deploymentId: string
    readonly workspaceId: string
    readonly diskMb: number
    readonly defaultMb: number
  },
): Promise<DiskUse> =>
  db.transaction(async (tx) => {
    // The deployment before its workspace, as every change of a deployment locks them.
    await storeDiskUse(tx, it.deploymentId, it.diskMb)
    await lockWorkspace(tx, it.workspaceId)
    return readDiskUse(tx, it.workspaceId, it.defaultMb)
  })
