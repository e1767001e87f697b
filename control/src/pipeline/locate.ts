/** Finds a revision's code: which source provides it, and the credentials for that source. */
import type { CarriedDeployment } from "../deployments/carried-queries.js"
import { credentialsOf } from "../integrations/operations.js"
import type { PipelineContext, PipelineLimits } from "../planner/context.js"
import type { RevisionRow } from "../revisions/queries.js"
import { type ArchiveLocation, archiveWasDeleted } from "../sources/archive-location.js"
import { credentialsApply, type GitLocation } from "../sources/git-location.js"
import { type FetchedTree, type Source, SourceFailed } from "../sources/port.js"
import { readArchiveContent } from "../uploads/content.js"
import { findArchive } from "../uploads/operations.js"

/** What code is found with. */
export type CodeLookup = Pick<PipelineContext, "db" | "key" | "log" | "sources"> & {
  readonly limits: Pick<PipelineLimits, "sourceMs">
}

/** A revision whose code is looked for. */
export interface WantedCode {
  readonly context: CodeLookup
  readonly revision: Pick<
    RevisionRow,
    "revision_id" | "deployment_id" | "source" | "source_config" | "source_revision_config"
  >
  readonly deployment: Pick<CarriedDeployment, "workspace_id">
}

/** A location together with its source (`sources/port.ts`). */
export interface Located {
  /** Its name in the build log. */
  readonly shown: string
  resolve(signal: AbortSignal): Promise<string>
  fetch(id: string, folder: string, signal: AbortSignal): Promise<FetchedTree>
}

/**
 * All work on a source together is bounded in time: it holds one of the fetches that a workspace may have.
 * @returns  a function that does a part of it
 */
export function timeLimit(shown: string, limitMs: number) {
  const late = AbortSignal.timeout(limitMs)
  return async <T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      return await work(AbortSignal.any([signal, late]))
    } catch (cause) {
      if (signal.aborted || !late.aborted) throw cause
      const words = `${shown} was not fetched within ${limitMs / 1000} s`
      throw new SourceFailed("source_timeout", words, { cause, isTransient: true })
    }
  }
}

function located<Location>(source: Source<Location>, location: Location, shown: string, limitMs: number): Located {
  const inTime = timeLimit(shown, limitMs)
  return {
    shown,
    resolve: (signal) => inTime(signal, (either) => source.resolve(location, either)),
    fetch: (id, folder, signal) => inTime(signal, (either) => source.fetch(location, id, folder, either)),
  }
}

/** @throws SourceFailed  `source_unsupported`, or `source_not_found` when the archive no longer exists */
export async function locate(input: WantedCode): Promise<Located> {
  const { sources, limits } = input.context
  const { source } = input.revision
  switch (source) {
    case "github": {
      const location = await gitLocation(input)
      return located(sources.git, location, `${location.repoUrl} ${location.ref}`, limits.sourceMs)
    }
    case "internal_source":
      return located(sources.archive, await archiveLocation(input), "the uploaded archive", limits.sourceMs)
    case "internal_docker":
      throw unsupported("this installation has no registry of its own: push to another one and deploy external_docker")
    case "external_docker":
      // It has a way of its own (fetch-image.ts).
      throw unsupported("an image has no source code")
    case "internal_template":
      throw unsupported("this installation has no templates: deploy source code")
  }
}

const unsupported = (message: string) => new SourceFailed("source_unsupported", message)

async function gitLocation({ context, revision, deployment }: WantedCode): Promise<GitLocation> {
  const repoUrl = revision.source_config.repo_url
  const ref = revision.source_revision_config.repo_ref
  if (!repoUrl || !ref) throw new SourceFailed("source_not_found", "the revision names no repository or no ref")
  const integrationId = revision.source_config.integration_id
  if (!integrationId) return { repoUrl, ref }
  const ids = { workspaceId: deployment.workspace_id, integrationId }
  const credentials = await credentialsOf(context.db, context.key, ids)
  if (!credentialsApply(repoUrl, credentials)) {
    const { kind, host } = credentials
    context.log.info({ revision_id: revision.revision_id, host, kind }, "the integration is for another address")
  }
  return { repoUrl, ref, credentials }
}

async function archiveLocation({ context: { db }, revision }: WantedCode): Promise<ArchiveLocation> {
  const { source_tarball_path: objectPath } = revision.source_revision_config
  const upload = objectPath && (await findArchive(db, revision.deployment_id, objectPath))
  if (!upload || upload.sha256 === null || upload.size_bytes === null) {
    throw new SourceFailed("source_not_found", "the revision names no archive that was uploaded")
  }
  const { upload_id: uploadId, transfer_id: transferId, sha256, size_bytes: sizeBytes } = upload
  if (transferId === null) throw archiveWasDeleted()
  return { sha256, sizeBytes, read: () => readArchiveContent(db, { uploadId, transferId }) }
}
