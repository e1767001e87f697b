/** Ends builds. A revision whose build was ended begins it anew when it is worked on again. */
import { readdir } from "node:fs/promises"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import { stopBuild } from "../builders/build-process.js"
import { type Folders, workFolder } from "./folders.js"

/** @param only  of these revisions; every build of the installation unless told */
export async function stopBuilds(folders: Folders, only?: ReadonlySet<string>): Promise<void> {
  // Missing: nothing was built yet.
  const present = await readdir(folders.work).catch(ifCode(["ENOENT"], []))
  const revisions = only ? present.filter((id) => only.has(id)) : present
  await Promise.all(revisions.map((revisionId) => stopBuild(workFolder(folders, revisionId).build)))
}
