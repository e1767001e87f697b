/** Reads and sets the quotas of a workspace. `deployments/room.ts` refuses what would exceed them. */
import type { Db } from "@superstep/toolkit/db/database"
import { lockWorkspace } from "../workspaces/queries.js"
import { diskUseOf } from "./disk-queries.js"
import { ownQuotas, storeQuotas } from "./queries.js"
import { type Amounts, type OwnQuotas, quotasOf } from "./quota.js"

export interface QuotaRules {
  /** Quotas of workspaces for which the operator has set none. */
  readonly defaultQuotas: Amounts
}

/** The app passes it in, because quotas do not know deployments. */
export interface UseOfWorkspaces {
  /** The present use by a workspace's deployments and builds. */
  readonly usedIn: (db: Db, workspaceId: string) => Promise<Amounts>
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

export async function readQuotas(
  db: Db,
  { defaultQuotas, usedIn }: QuotaRules & UseOfWorkspaces,
  workspaceId: string,
): Promise<QuotaStatus> {
  const own = (await ownQuotas(db, workspaceId)) ?? allDefault
  return { own, quotas: quotasOf(own, defaultQuotas), used: await usedIn(db, workspaceId) }
}

/**
 * Changes the given quotas; null restores the default. What exceeds a lower quota stays, but nothing can be added to it.
 */
export async function setQuotas(tx: Db, workspaceId: string, change: Partial<OwnQuotas>): Promise<void> {
  await lockWorkspace(tx, workspaceId)
  const own = (await ownQuotas(tx, workspaceId)) ?? allDefault
  await storeQuotas(tx, workspaceId, { ...own, ...change })
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
