/** Ends builds. A revision whose build was ended begins it anew when it is worked on again. */
import { readdir } from "node:fs/promises"
import { stopBuild } from "../builders/build-process.js"
import { type Folders, workFolder } from "./folders.js"

/** @param only  of these revisions; every build of the installation unless told */
export async function stopBuilds(folders: Folders, only?: ReadonlySet<string>): Promise<void> {
  const present = await readdir(folders.work).catch((error: NodeJS.ErrnoException) => {
    // Nothing was built yet.
    if (error.code === "ENOENT") return []
    throw error
  })
  const revisions = only ? present.filter((id) => only.has(id)) : present
  await Promise.all(revisions.map((revisionId) => stopBuild(workFolder(folders, revisionId).build)))
}
