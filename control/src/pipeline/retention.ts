/** Removes what nobody needs any more. */
import { readdir } from "node:fs/promises"
import { basename, join } from "node:path"
import { type BuildRequest, buildFiles } from "../builders/build-request.js"
import { removeArtifact } from "../builders/publish.js"
import { readJson } from "../files/json-file.js"
import { removeTree } from "../files/remove-tree.js"
import { removeOldLines } from "../logs/quota.js"
import { removeOldSecrets } from "../secrets/operations.js"
import { removeOldArchives } from "../uploads/operations.js"
import { allArtifactIds, removeUnneededArtifact, unneededArtifacts } from "./artifact-queries.js"
import type { PipelineContext } from "./context.js"
import { type Folders, workFolder } from "./folders.js"
import { allDeploymentIds } from "./queries.js"

export async function removeWhatIsOld({ db, folders, limits, log, crashPoint }: PipelineContext): Promise<void> {
  for (const { artifact_id } of await unneededArtifacts(db, limits.keptArtifacts)) {
    // The row first: an artefact without a row is never used again, a row without its artefact might be.
    if ((await removeUnneededArtifact(db, artifact_id, limits.keptArtifacts)) === 0) continue
    crashPoint("retention:after-row")
    await removeArtifact(join(folders.artifacts, artifact_id))
  }
  await removeUnknownArtifacts({ db, folders, log })
  await removeUnknownCaches({ db, folders })
  await removeOldSecrets(db, limits.keptArtifacts)
  await removeOldLines(db, limits.keptLogDays)
  await removeOldArchives(db, folders.uploads)
}

/**
 * What a build published whose revision was ended at that moment. The order of the looks matters: a build that is not
 * found any more has its row by then, or never gets one.
 */
export async function removeUnknownArtifacts({
  db,
  folders,
  log,
}: Pick<PipelineContext, "db" | "folders" | "log">): Promise<void> {
  const present = await readdir(folders.artifacts)
  const inBuild = await artifactsInBuild(folders)
  const known = await allArtifactIds(db)
  for (const id of present.filter((it) => !inBuild.has(it) && !known.has(it))) {
    log.warn({ artifact_id: id }, "removing an artefact that belongs to nothing")
    await removeArtifact(join(folders.artifacts, id))
  }
}

/** Of deployments that were deleted while a build of theirs began, which made its cache anew. */
export async function removeUnknownCaches({ db, folders }: Pick<PipelineContext, "db" | "folders">): Promise<void> {
  // Listed first: a deployment that is added in between is then not in the list.
  const present = await readdir(folders.cache)
  const known = await allDeploymentIds(db)
  for (const id of present.filter((it) => !known.has(it))) await removeTree(join(folders.cache, id))
}

/** Those that builds are about to publish or have published, as long as their revision has not stored it. */
async function artifactsInBuild(folders: Folders): Promise<ReadonlySet<string>> {
  const revisions = await readdir(folders.work)
  const requests = revisions.map((id) => readJson<BuildRequest>(buildFiles(workFolder(folders, id).build).request))
  return new Set((await Promise.all(requests)).flatMap((it) => (it ? [basename(it.artifactFolder)] : [])))
}
