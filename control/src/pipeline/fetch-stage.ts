/** fetch: from a ref or an archive to an id of its content, which is stored at once, and from the id to the tree. */
import { mkdir, stat } from "node:fs/promises"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { stopBuild } from "../builders/build-process.js"
import { removeTree } from "../files/remove-tree.js"
import { recordCommit } from "../revisions/claims.js"
import { artifactOfSameInput } from "./artifact-queries.js"
import { workFolder } from "./folders.js"
import { type Located, locate } from "./locate.js"
import { logBuild } from "./log-shipping.js"
import { platformOf } from "./platform.js"
import type { RunStage, StageInput } from "./stage.js"

export const runFetch: RunStage = async (input) => {
  const { context, revision, deployment, signal } = input
  context.crashPoint("fetch:begin")
  const code = await locate(input)
  const pinned = revision.commit_sha ?? revision.source_revision_config.repo_commit_sha
  const sha = pinned ?? (await code.resolve(signal))
  await recordCommit(context.db, revision, { sha, treeHash: null, commit: null })
  context.crashPoint("fetch:after-resolve")
  const nodes = [context.nodes.own, ...(await context.nodes.others(context.isolation.user(deployment.uid_offset)))]
  const same = { revision_id: revision.revision_id, sha }
  const built = await artifactOfSameInput(context.db, same, nodes.map(platformOf))
  if (built && (await isThere(`${context.folders.artifacts}/${built.artifact_id}`))) {
    await recordCommit(context.db, revision, { sha, treeHash: built.tree_hash, commit: built.commit })
    await logBuild(input, [`${code.shown} at ${sha} was built before: its artefact is used again`])
    return { kind: "next", status: "AWAITING_DEPLOY", stage: "deploy", artifactId: built.artifact_id }
  }
  await fetchTree(input, code, sha)
  context.crashPoint("fetch:after-fetch")
  return { kind: "next", status: "AWAITING_BUILD", stage: "build" }
}

/** Puts the revision's tree into its work folder, in place of whatever a former build left there. */
export async function fetchTree(input: StageInput, code: Located, sha: string): Promise<string> {
  const { context, revision, signal } = input
  const work = workFolder(context.folders, revision.revision_id)
  await stopBuild(work.build)
  await removeTree(work.folder)
  await mkdir(work.folder, { recursive: true, mode: 0o755 })
  await logBuild(input, [`fetch ${code.shown} at ${sha}`])
  const { treeHash, commit, notes = [] } = await code.fetch(sha, work.tree, signal)
  context.crashPoint("fetch:after-tree")
  if (notes.length > 0) await logBuild(input, notes)
  await recordCommit(context.db, revision, { sha, treeHash, commit: commit ?? null })
  return treeHash
}

export const isThere = (path: string): Promise<boolean> => stat(path).then(() => true, ifCode(["ENOENT"], false))
