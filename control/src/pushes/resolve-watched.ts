/** Lets polling know what a revision has found at its branch. */
import type { Db } from "@superstep/toolkit/db/database"
import type { RevisionRow } from "../revisions/queries.js"
import { watchedRef } from "./decide.js"
import { rememberResolved, watchedBranch } from "./queries.js"

/**
 * Resolves what a revision is built from. The commit of a branch is remembered, so that after a rollback no poll takes it for a push (H5).
 * It is remembered even if the revision loses its claim meanwhile: a rollback that took it away stays, too.
 */
export async function resolveWatched(
  db: Db,
  revision: Pick<RevisionRow, "deployment_id" | "source" | "source_revision_config">,
  resolve: () => Promise<string>,
): Promise<string> {
  const { repo_ref: repoRef } = revision.source_revision_config
  const ref = revision.source === "github" ? watchedRef(repoRef) : undefined
  if (ref === undefined) return await resolve()
  const { deployment_id: deploymentId } = revision
  const before = (await watchedBranch(db, deploymentId))?.sha ?? null
  const sha = await resolve()
  await rememberResolved(db, { deploymentId, repoRef, ref, sha, before })
  return sha
}
