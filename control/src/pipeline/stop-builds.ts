/** Ends every build of an installation. A revision whose build was ended begins it anew at the next start. */
import { readdir } from "node:fs/promises"
import { stopBuild } from "../builders/build-process.js"
import { type Folders, workFolder } from "./folders.js"

export async function stopBuilds(folders: Folders): Promise<void> {
  const revisions = await readdir(folders.work).catch((error: NodeJS.ErrnoException) => {
    // Nothing was built yet.
    if (error.code === "ENOENT") return []
    throw error
  })
  await Promise.all(revisions.map((revisionId) => stopBuild(workFolder(folders, revisionId).build)))
}
