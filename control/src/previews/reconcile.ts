/**
 * Ends previews when their time has run out, and starts waiting ones when there is room. Stateless: each pass reads the
 * database.
 */
import type { Database } from "@superstep/toolkit/db/database"
import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import type { Log } from "@superstep/toolkit/log/log"
import type { DeploymentRules } from "../deployments/operations.js"
import { reconcilePreview } from "./operations.js"
import { previewsToReconcile } from "./queries.js"

export interface PreviewWork extends DeploymentRules {
  readonly db: Database
  readonly log: Log
}

// Previews live for days.
const passMs = 30_000

export function startPreviews(work: PreviewWork): Repeated {
  const passes = repeated(() => reconcilePreviews(work), passMs)
  passes.wake()
  return passes
}

/** A failure of one preview does not stop the others. Never throws. */
export async function reconcilePreviews({ db, log, ...rules }: PreviewWork): Promise<void> {
  try {
    for (const preview of await previewsToReconcile(db)) {
      await db
        .transaction((tx) => reconcilePreview(tx, rules, preview))
        .catch((err: unknown) => log.warn({ err, preview_id: preview.preview_id }, "a preview could not be reconciled"))
    }
  } catch (err) {
    log.warn({ err }, "previews could not be read; retrying")
  }
}
