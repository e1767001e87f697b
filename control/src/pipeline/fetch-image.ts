/**
 * fetch, for an image that somebody else built: its tag is resolved once, to a digest, which is stored where others store a commit. There is
 * nothing to build.
 */
import { ImageRefused } from "@superstep/machines/port/errors"
import { addArtifact } from "../revisions/artifact-queries.js"
import { recordCommit } from "../revisions/claims.js"
import { SourceFailed } from "../sources/port.js"
import { logBuild } from "./build-log.js"
import { timeLimit } from "./locate.js"
import { reuseArtifact } from "./reuse-artifact.js"
import type { StageInput, StageOutcome } from "./stage.js"

export async function fetchImage(input: StageInput): Promise<StageOutcome> {
  const { context, revision, signal } = input
  const { db, machine, limits } = context
  const { image_uri: named, repo_commit_sha: repeated } = revision.source_revision_config
  if (!named) throw new SourceFailed("source_not_found", "the revision names no image")
  const pinned = revision.commit_sha ?? repeated
  const reused = pinned && (await reuseArtifact(input, pinned))
  if (reused) return reused
  const reference = pinned ? withDigest(named, pinned) : named
  await logBuild(input, [`fetch the image ${reference}`])
  const image = {
    deploymentId: revision.deployment_id,
    reference,
    pullSecrets: pullSecretsOf(revision.source_config.resource_spec),
  }
  const inTime = timeLimit(`the image ${reference}`, limits.sourceMs)
  const { digest, artifact } = await inTime(signal, (either) => machine.artifacts.adoptImage(image, either)).catch(
    asMaybePassing(signal),
  )
  context.crashPoint("fetch:after-tree")
  await db.transaction(async (tx) => {
    await recordCommit(tx, revision, { sha: digest, treeHash: null, commit: null })
    await addArtifact(tx, { ...artifact, deploymentId: revision.deployment_id })
  })
  await logBuild(input, [`its digest is ${digest}`])
  return { kind: "next", status: "AWAITING_DEPLOY", stage: "deploy", artifactId: artifact.artifactId }
}

/** A registry that cannot be reached may be there again soon. */
const asMaybePassing =
  (signal: AbortSignal) =>
  (cause: unknown): never => {
    if (signal.aborted || cause instanceof ImageRefused || cause instanceof SourceFailed) throw cause
    const words = cause instanceof Error ? cause.message : String(cause)
    throw new SourceFailed("source_not_found", words, { cause, isTransient: true })
  }

/** The image of this digest, whatever the tag means now. Pure. */
export const withDigest = (reference: string, digest: string): string =>
  `${reference.replace(/@[^@]*$/, "").replace(/:[^:/]*$/, "")}@${digest}`

/** Pure. */
export function pullSecretsOf(spec: Readonly<Record<string, unknown>> | null): string[] {
  const listed = spec?.image_pull_secrets
  if (!Array.isArray(listed)) return []
  return listed.flatMap((it: unknown) => {
    const name = (it as { name?: unknown } | null)?.name
    return typeof name === "string" ? [name] : []
  })
}
