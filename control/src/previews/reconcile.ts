/**
 * Ends previews when their time has run out, and starts waiting ones when there is room. Stateless: each pass reads the
 * database.
 */
import type { Database } from "@superstep/toolkit/db/database"
import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import type { MemberFailures } from "@superstep/toolkit/log/member-failures"
import type { DeploymentRules } from "../deployments/operations.js"
import { reconcilePreview } from "./operations.js"
import { previewsToEnd, previewsToStart } from "./queries.js"

export interface PreviewWork extends DeploymentRules {
  readonly db: Database
  readonly failures: MemberFailures
}

// Previews live for days.
const passMs = 30_000

export function startPreviews(work: PreviewWork): Repeated {
  const passes = repeated(() => reconcilePreviews(work), passMs)
  passes.wake()
  return passes
}

/** Those that must end come first: they make room. A failure of one preview does not stop the others. Never throws. */
export async function reconcilePreviews({ db, failures, ...rules }: PreviewWork): Promise<void> {
  const factsOf = ({ preview_id }: { readonly preview_id: string }) => ({ preview_id })
  await failures.attempt("the reading of previews", {}, async () => {
    for (const find of [previewsToEnd, previewsToStart]) {
      await failures.forEach("the work on a preview", await find(db), factsOf, (preview) =>
        db.transaction((tx) => reconcilePreview(tx, rules, preview)),
      )
    }
  })
}
