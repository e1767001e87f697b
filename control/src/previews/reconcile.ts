/** Previews end by themselves, and begin when there is room. It keeps nothing: each pass reads the database. */
import type { Database } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import type { DeploymentRules } from "../deployments/operations.js"
import { type Repeated, repeated } from "../pipeline/repeated.js"
import { reconcilePreview } from "./operations.js"
import { previewsToReconcile } from "./queries.js"

export interface PreviewWork extends DeploymentRules {
  readonly db: Database
  readonly log: Log
}

// They live for days.
const passMs = 30_000

export function startPreviews(work: PreviewWork): Repeated {
  const passes = repeated(() => reconcilePreviews(work), passMs)
  passes.wake()
  return passes
}

/** One that fails keeps no other from its turn. Never throws. */
export async function reconcilePreviews({ db, log, ...rules }: PreviewWork): Promise<void> {
  try {
    for (const preview of await previewsToReconcile(db)) {
      await db
        .transaction((tx) => reconcilePreview(tx, rules, preview))
        .catch((err: unknown) => log.warn({ err, preview_id: preview.preview_id }, "a preview could not be reconciled"))
    }
  } catch (err) {
    log.warn({ err }, "previews could not be read; it is tried again")
  }
}
