/** The folder with an empty home for git, and the host keys that it has seen. */
import { join } from "node:path"
import { makeOwnFolder } from "@superstep/toolkit/files/own-folder"
import type { GitHome } from "./git-command.js"

/**
 * Creates the folder, which stays: host keys must be remembered across restarts.
 * @param folder  inside one that only we may write to: in the temporary folder, anybody could create it before us and so
 *                prevent us from fetching
 * @throws ForeignFolder  somebody else created the folder
 */
export async function makeGitHome(folder: string): Promise<GitHome> {
  await makeOwnFolder(folder, 0o700)
  const emptyFolder = join(folder, "empty")
  // Nobody may write to it, so it never contains a `.netrc`.
  await makeOwnFolder(emptyFolder, 0o500)
  return { emptyFolder, knownHosts: join(folder, "known_hosts") }
}
