/** Before a switch: whether paused threads could go on with the new revision, and what to do when they could not. */

import { askOrphans } from "@superstep/machines/unit-client/unit-client"
import type { Orphans } from "@superstep/machines/unit-client/unit-replies"
import { appendLogLines } from "../logs/operations.js"
import type { UnitRow } from "../planner/facts.js"
import { unitAddress } from "../planner/unit.js"
import { recordOrphans } from "../revisions/queries.js"
import { DeployFailed } from "./failures.js"
import type { StageInput } from "./stage.js"

/**
 * Asks one unit of the new revision, once, and tells what it found in the deploy log. With the rule `pin` the next activation pins paused
 * threads, whatever `thread_pinning` says (`deploymentById`). A rollback or a redeploy brings back what served before, and does not wait.
 * @throws DeployFailed  there are orphans, or that cannot be said, and the deployment's rule is `fail`
 */
export async function checkOrphans(
  { context, revision, deployment, signal }: StageInput,
  unit: UnitRow,
): Promise<void> {
  // A first revision has no thread before it.
  if (deployment.active_revision_id === null) return
  if (revision.trigger === "rollback" || revision.trigger === "redeploy") return
  const { on_orphaned_threads: rule, thread_pinning: pinning } = deployment
  const tell = (message: string) =>
    appendLogLines(context.db, unit.revision_id, "deploy", [{ message, level: "WARNING" }])
  // By a second look, threads may be pinned to the revision before: the first one counts.
  if (revision.orphaned_threads !== null) {
    if (revision.orphaned_threads === 0 || rule !== "fail") return
    throw new DeployFailed(
      "orphaned_threads",
      `${revision.orphaned_threads} paused threads could not go on with this revision`,
    )
  }
  const orphans = await askOrphans(unitAddress(context, unit), signal)
  if ("reason" in orphans) {
    const unknown = `paused threads could not be looked at: ${orphans.reason}`
    if (rule === "fail") throw new DeployFailed("orphaned_threads", unknown)
    await tell(unknown)
    return
  }
  const found = describe(orphans)
  await recordOrphans(context.db, unit.revision_id, orphans.orphaned)
  if (orphans.orphaned === 0) return
  if (rule === "fail") throw new DeployFailed("orphaned_threads", found)
  const end =
    rule === "pin" || pinning !== "none"
      ? "they finish on the revision before"
      : "they go on with it all the same (on_orphaned_threads)"
  await tell(`${found}; ${end}`)
}

/** Pure. */
export function describe({ checked, orphaned, examples, is_complete: isComplete }: Orphans): string {
  const of = isComplete ? `${checked}` : `the ${checked} newest`
  const named = examples.map(({ thread_id, reason }) => `${thread_id} (${reason})`).join(", ")
  return `${orphaned} of ${of} paused threads could not go on with this revision: ${named}${orphaned > examples.length ? ", …" : ""}`
}
