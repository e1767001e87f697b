/** fetch: resolves a ref or an archive to a hash of its content, stores the hash at once, then fetches the tree. */
import { resolveWatched } from "../pushes/resolve-watched.js"
import { recordCommit } from "../revisions/claims.js"
import { logBuild } from "./build-log.js"
import { fetchImage } from "./fetch-image.js"
import { type Located, locate } from "./locate.js"
import { reuseArtifact } from "./reuse-artifact.js"
import type { RunStage, StageInput } from "./stage.js"

export const runFetch: RunStage = async (input) => {
  const { context, revision, signal } = input
  context.crashPoint("fetch:begin")
  if (revision.source === "external_docker") return fetchImage(input)
  const code = await locate(input)
  const pinned = revision.commit_sha ?? revision.source_revision_config.repo_commit_sha
  const sha = pinned ?? (await resolveWatched(context.db, revision, () => code.resolve(signal)))
  await recordCommit(context.db, revision, { sha, treeHash: null, commit: null })
  context.crashPoint("fetch:after-resolve")
  const reused = await reuseArtifact(input, sha)
  if (reused) return reused
  await fetchTree(input, code, sha)
  context.crashPoint("fetch:after-fetch")
  return { kind: "next", status: "AWAITING_BUILD", stage: "build" }
}

/** Puts the revision's tree where the machine builds it, and replaces what a former build left there. */
export async function fetchTree(input: StageInput, code: Located, sha: string): Promise<string> {
  const { context, revision, signal } = input
  const tree = await context.machine.builds.prepare(revision.revision_id)
  await logBuild(input, [`fetch ${code.shown} at ${sha}`])
  const { treeHash, commit, notes = [] } = await code.fetch(sha, tree, signal)
  context.crashPoint("fetch:after-tree")
  if (notes.length > 0) await logBuild(input, notes)
  await recordCommit(context.db, revision, { sha, treeHash, commit: commit ?? null })
  return treeHash
}
