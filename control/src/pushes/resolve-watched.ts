/** Lets polling know what a revision has found at its branch. */
import type { Db } from "@superstep/toolkit/db/database"
import type { RevisionRow } from "../revisions/queries.js"
import { watchedRef } from "./decide.js"
import { foundByListener, rememberResolved, watchedBranch } from "./queries.js"

type Resolving = Pick<RevisionRow, "deployment_id" | "source" | "source_revision_config">

/**
 * Resolves what a revision is built from. The commit of a branch is remembered, so that after a rollback no poll takes it for a push (H5).
 * It is remembered even if the revision loses its claim meanwhile: a rollback that took it away stays, too.
 */
export async function resolveWatched(db: Db, revision: Resolving, resolve: () => Promise<string>): Promise<string> {
  const before = (await watchedBranch(db, revision.deployment_id))?.sha ?? null
  const sha = await resolve()
  await remember(db, revision, { sha, before })
  return sha
}

/**
 * Remembers the same of revisions that a listener has fetched. Call it before their commits are stored, in a transaction that has locked the
 * deployment.
 */
export async function rememberReported(
  tx: Db,
  deploymentId: string,
  reported: readonly { readonly revision_id: string; readonly commit_sha: string | null }[],
): Promise<void> {
  for (const { sha, ...revision } of await foundByListener(tx, deploymentId, reported)) {
    const before = (await watchedBranch(tx, deploymentId))?.sha ?? null
    await remember(tx, revision, { sha, before })
  }
}

async function remember(db: Db, revision: Resolving, found: { sha: string; before: string | null }): Promise<void> {
  const { repo_ref: repoRef } = revision.source_revision_config
  const ref = revision.source === "github" ? watchedRef(repoRef) : undefined
  if (ref === undefined) return
  await rememberResolved(db, { deploymentId: revision.deployment_id, repoRef, ref, ...found })
}
