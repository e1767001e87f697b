/** fetch: from a ref to a commit, which is stored at once, and from the commit to its tree. */
import { mkdir, stat } from "node:fs/promises"
import { stopBuild } from "../builders/build-process.js"
import { removeTree } from "../builders/publish.js"
import { credentialsOf } from "../integrations/operations.js"
import { type ClaimedRevision, recordCommit } from "../revisions/claims.js"
import { credentialsApply } from "../sources/git-command.js"
import { SourceFailed, type SourceLocation } from "../sources/port.js"
import { artifactOfSameInput } from "./artifact-queries.js"
import { workFolder } from "./folders.js"
import { logBuild } from "./log-shipping.js"
import { platformOf } from "./platform.js"
import type { RunStage, StageInput } from "./stage.js"

export const runFetch: RunStage = async (input) => {
  const { context, revision, deployment, signal } = input
  context.crashPoint("fetch:begin")
  const location = await locate(input)
  const pinned = revision.commit_sha ?? revision.source_revision_config.repo_commit_sha
  const sha = pinned ?? (await context.source.resolve(location, signal))
  await recordCommit(context.db, revision, { sha, treeHash: null, commit: null })
  context.crashPoint("fetch:after-resolve")
  const nodes = [context.nodes.own, ...(await context.nodes.others(context.isolation.user(deployment.uid_offset)))]
  const same = { revision_id: revision.revision_id, sha }
  const built = await artifactOfSameInput(context.db, same, nodes.map(platformOf))
  if (built && (await isThere(`${context.folders.artifacts}/${built.artifact_id}`))) {
    await logBuild(input, [`commit ${sha} was built before: its artefact is used again`])
    return { kind: "next", status: "AWAITING_DEPLOY", stage: "deploy", artifactId: built.artifact_id }
  }
  await fetchTree(input, location, sha)
  context.crashPoint("fetch:after-fetch")
  return { kind: "next", status: "AWAITING_BUILD", stage: "build" }
}

/** Puts the revision's tree into its work folder, in place of whatever a former build left there. */
export async function fetchTree(input: StageInput, location: SourceLocation, sha: string): Promise<string> {
  const { context, revision, signal } = input
  const work = workFolder(context.folders, revision.revision_id)
  await stopBuild(work.build)
  await removeTree(work.folder)
  await mkdir(work.folder, { recursive: true, mode: 0o755 })
  await logBuild(input, [`fetch ${location.repoUrl} ${location.ref} at ${sha}`])
  const { treeHash, ...commit } = await context.source.fetch(location, sha, work.tree, signal)
  await recordCommit(context.db, revision, { sha: commit.sha, treeHash, commit })
  return treeHash
}

/** @throws SourceFailed  `source_unsupported` */
export async function locate({ context, revision, deployment }: StageInput): Promise<SourceLocation> {
  const repoUrl = revision.source_config.repo_url
  const ref = revision.source_revision_config.repo_ref
  if (revision.source !== "github" || !repoUrl || !ref) throw unsupported(revision)
  const integrationId = revision.source_config.integration_id
  if (!integrationId) return { repoUrl, ref }
  const credentials = await credentialsOf(context.db, context.key, {
    workspaceId: deployment.workspace_id,
    integrationId,
  })
  if (!credentialsApply(repoUrl, credentials)) {
    context.log.info(
      { revision_id: revision.revision_id, host: credentials.host },
      "the integration is for another host",
    )
  }
  return { repoUrl, ref, credentials }
}

const unsupported = ({ source }: ClaimedRevision): SourceFailed =>
  new SourceFailed("source_unsupported", `this release builds from git repositories, not from ${source}`)

export const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false
      throw error
    },
  )
