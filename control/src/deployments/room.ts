/** How many units the deployments of a workspace may have together, so that one team cannot fill the machine. */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { replicasOf, type SourceConfig } from "./deployment.js"
import { lockNames, unitsAskedFor } from "./queries.js"

export interface RoomRules {
  /** Most units of a workspace. A deployment that sleeps counts, since it may wake at any time. */
  readonly unitsPerWorkspace: number
}

/**
 * Call it before a deployment is stored, or before its resources change. It makes others of the workspace who ask for
 * room wait until the transaction ends.
 * @param current  what the deployment has now; undefined for a new one
 * @throws Conflict  the workspace has no room for the units that `wanted` adds
 */
export async function requireRoom(
  tx: Db,
  { unitsPerWorkspace: most }: RoomRules,
  { workspaceId, wanted, current }: { workspaceId: string; wanted: SourceConfig; current?: SourceConfig | undefined },
): Promise<void> {
  const added = replicasOf(wanted) - (current ? replicasOf(current) : 0)
  if (added <= 0) return
  await lockNames(tx, workspaceId)
  const used = await unitsAskedFor(tx, workspaceId)
  if (used + added <= most) return
  const has = `the deployments of this workspace ask for ${used} of ${most} units (SUPERSTEP_WORKSPACE_UNITS)`
  throw new Conflict(`${has}, and this adds ${added}: lower a min_scale, or delete what is not used`, "workspace_full")
}
