/** Finds what a commit was built into before: a rollback, a redeploy and an unchanged ref are deployed without a fetch or a build. */
import { artifactOfSameInput } from "../revisions/artifact-queries.js"
import { recordCommit } from "../revisions/claims.js"
import { logBuild } from "./build-log.js"
import type { StageInput, StageOutcome } from "./stage.js"

/** @returns  the deploy stage with the artifact; undefined when the commit must be built */
export async function reuseArtifact(input: StageInput, sha: string): Promise<StageOutcome | undefined> {
  const { context, revision, deployment } = input
  const { artifacts } = context.machine
  const same = { revision_id: revision.revision_id, sha }
  const built = await artifactOfSameInput(context.db, same, await artifacts.platforms(deployment.number))
  if (!built || !(await artifacts.has(built.artifact_id))) return undefined
  await recordCommit(context.db, revision, { sha, treeHash: built.tree_hash, commit: built.commit })
  await logBuild(input, [`${sha} was built before: its artifact is used again`])
  return { kind: "next", status: "AWAITING_DEPLOY", stage: "deploy", artifactId: built.artifact_id }
}
