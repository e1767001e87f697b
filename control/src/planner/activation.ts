/** What an agent server is told when its revision becomes the active one. */

import type { Activation } from "@superstep/machines/unit-client/unit-client"
import type { Db } from "@superstep/toolkit/db/database"
import { deploymentById } from "../deployments/carried-queries.js"
import { executingRevisions } from "../revisions/role-queries.js"

/** As the tables say now. */
export async function activationOf(db: Db, deploymentId: string): Promise<Activation> {
  const deployment = await deploymentById(db, deploymentId)
  const { all, canary } = await executingRevisions(db, deploymentId)
  return {
    // One that is gone has no threads.
    pinning: deployment?.thread_pinning ?? "none",
    keep: all,
    canary,
  }
}
