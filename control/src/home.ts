/** The data folder: one process has it, and it has a name of its own. */
import { randomUUID } from "node:crypto"
import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { takeLock } from "./files/process-lock.js"
import { removeTree } from "./files/remove-tree.js"
import type { Folders } from "./pipeline/folders.js"
import { makeOwnFolder } from "./runtimes/own-folder.js"
import { removePartialArchives } from "./uploads/operations.js"

export class HomeInUse extends KnownError {
  readonly code = "home_in_use"
}

/**
 * Makes the folders and takes the lock.
 * @returns the home's own id, by which a process recognises what a former one left
 * @throws HomeInUse      another control plane runs on it
 * @throws ForeignFolder  the folder for sockets is in the temporary folder, and somebody else made it
 */
export async function openHome(folders: Folders): Promise<string> {
  // Units of other users pass through these on the way to their own files; listing them is not for them.
  for (const folder of [folders.home, folders.artifacts, folders.units, folders.work, folders.cache]) {
    // A folder that was there has the permissions that somebody gave it.
    if (await mkdir(folder, { recursive: true })) await chmod(folder, 0o711)
  }
  await makeOwnFolder(folders.run, 0o700)
  const other = await takeLock(join(folders.home, "control.json"))
  if (other) {
    throw new HomeInUse(`process ${other.pid} already runs on ${folders.home}: stop it, or choose another with --home`)
  }
  // Those of units that a former release started, which belong to the deployments' users.
  for (const name of await readdir(folders.run))
    if (/^[0-9a-f]{16}$/.test(name)) await removeTree(join(folders.run, name))
  // A process that was killed while git ran left a key there, or half an archive while a client sent it.
  await rm(folders.gitKeys, { recursive: true, force: true })
  await removePartialArchives(folders.uploads)
  return homeIdOf(folders)
}

/** Names the home; it is made up when it is asked for the first time. */
export const homeIdOf = (folders: Folders): Promise<string> => readOrMake(join(folders.home, "id"), () => randomUUID())

async function readOrMake(file: string, make: () => string): Promise<string> {
  try {
    await writeFile(file, make(), { mode: 0o600, flag: "wx" })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  }
  return readFile(file, "utf8")
}
