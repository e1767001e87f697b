/** Reads and sets the quotas of a workspace, and refuses what would exceed them. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { lockNames, sourceConfigsOf } from "../deployments/queries.js"
import { useOf } from "../deployments/use.js"
import { countHostNames } from "../host-names/queries.js"
import { claimedBuilds } from "../revisions/claims.js"
import { diskUseOf, storeDiskUse } from "./disk-queries.js"
import { ownQuotas, storeQuotas } from "./queries.js"
import { type Amounts, exceededBy, type OwnQuotas, type QuotaName, quotaNames, quotasOf, sumOf } from "./quota.js"

export interface QuotaRules {
  /** Quotas of workspaces for which the operator has set none. */
  readonly defaultQuotas: Amounts
}

export interface QuotaStatus {
  readonly own: OwnQuotas
  readonly quotas: Amounts
  /** The present use by the workspace's deployments and builds. */
  readonly used: Amounts
}

const allDefault: OwnQuotas = {
  deployments: null,
  units: null,
  memory_mb: null,
  cpu: null,
  builds: null,
  disk_mb: null,
  host_names: null,
}

const usedIn = async (db: Db, workspaceId: string): Promise<Amounts> => ({
  ...sumOf((await sourceConfigsOf(db, workspaceId)).map(({ source_config, units }) => useOf(source_config, units))),
  builds: await claimedBuilds(db, workspaceId),
  disk_mb: await diskUseOf(db, workspaceId),
  host_names: await countHostNames(db, workspaceId),
})

export async function readQuotas(db: Db, { defaultQuotas }: QuotaRules, workspaceId: string): Promise<QuotaStatus> {
  const own = (await ownQuotas(db, workspaceId)) ?? allDefault
  return { own, quotas: quotasOf(own, defaultQuotas), used: await usedIn(db, workspaceId) }
}

/**
 * Changes the given quotas; null restores the default. What exceeds a lower quota stays, but nothing can be added to it.
 */
export async function setQuotas(tx: Db, workspaceId: string, change: Partial<OwnQuotas>): Promise<void> {
  await lockNames(tx, workspaceId)
  const own = (await ownQuotas(tx, workspaceId)) ?? allDefault
  await storeQuotas(tx, workspaceId, { ...own, ...change })
}

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
  await lockNames(tx, workspaceId)
  const quotas = quotasOf(await ownQuotas(tx, workspaceId), defaultQuotas)
  const used = await usedIn(tx, workspaceId)
  const name = exceededBy(quotas, used, added)
  if (name === undefined) return
  const facts = { quota: name, limit: quotas[name], used: used[name], added: added[name] }
  const has = `the quota ${name} of this workspace is ${facts.limit}: ${facts.used} are in use, and this request adds ${facts.added}`
  throw new Conflict(`${has}. ${sentence(wordsFor[name])}; the operator can raise it`, "quota_exceeded", facts)
}

/** What a workspace may keep on disk, and keeps. */
export interface DiskUse {
  readonly limitMb: number
  readonly usedMb: number
}

/** @param defaultMb  the quota of workspaces for which the operator has set none */
export async function readDiskUse(db: Db, workspaceId: string, defaultMb: number): Promise<DiskUse> {
  const own = await ownQuotas(db, workspaceId)
  return { limitMb: own?.disk_mb ?? defaultMb, usedMb: await diskUseOf(db, workspaceId) }
}

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
    await lockNames(tx, it.workspaceId)
    return readDiskUse(tx, it.workspaceId, it.defaultMb)
  })

const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)
