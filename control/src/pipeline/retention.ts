/** Removes what nobody needs any more. */
import { join } from "node:path"
import { removeTree } from "../builders/publish.js"
import type { PipelineContext } from "./context.js"
import { removeArtifact, removeOldLogLines, unneededArtifacts } from "./queries.js"

// What people look for in a build's log is about its failure, in an agent's about today (control-plane §6.6).
const keptDays = { build: 30, deploy: 7 }

export async function removeWhatIsOld({ db, folders, limits }: PipelineContext): Promise<void> {
  for (const { artifact_id } of await unneededArtifacts(db, limits.keptArtifacts)) {
    // The row first: an artefact without a row is never used again, a row without its artefact might be.
    await removeArtifact(db, artifact_id)
    await removeTree(join(folders.artifacts, artifact_id))
  }
  await removeOldLogLines(db, keptDays)
}
