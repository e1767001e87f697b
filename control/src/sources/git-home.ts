/** The folder in which git finds an empty home and the host keys that it has seen. */
import { join } from "node:path"
import { makeOwnFolder } from "../runtimes/own-folder.js"
import type { GitHome } from "./git-command.js"

/**
 * Makes the folder, which stays: host keys are to be remembered across restarts.
 * @param folder  in one that only we may write to: in the temporary folder, anybody could make it before us and so keep us
 *                from fetching
 * @throws ForeignFolder  somebody else made the folder
 */
export async function makeGitHome(folder: string): Promise<GitHome> {
  await makeOwnFolder(folder, 0o700)
  const emptyFolder = join(folder, "empty")
  // Nobody writes to it, so no `.netrc` comes into it.
  await makeOwnFolder(emptyFolder, 0o500)
  return { emptyFolder, knownHosts: join(folder, "known_hosts") }
}
