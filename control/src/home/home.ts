/** The data folder: one process owns it, and it has an id of its own. */
import { randomUUID } from "node:crypto"
import { chmod, copyFile, mkdir, readFile, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { takeLock } from "@superstep/toolkit/files/process-lock"
import { createWhole } from "@superstep/toolkit/files/whole-file"
import type { Folders } from "./folders.js"

const restoredFromFile = "restored-from"

export class HomeInUse extends KnownError {
  readonly code = "home_in_use"
}

/**
 * Creates the folder and takes the lock.
 * @returns  the home's own id, by which a process recognizes leftovers of a former one
 * @throws HomeInUse  another control plane runs on it
 */
export async function openHome(folders: Folders): Promise<string> {
  // Processes of other users pass through the folder to their own files; they may not list it. An existing one keeps the permissions
  // that it was given.
  if (await mkdir(folders.home, { recursive: true })) await chmod(folders.home, 0o711)
  const other = await takeLock(join(folders.home, "control.json"))
  if (other) {
    throw new HomeInUse(
      `process ${other.pid} already uses ${folders.home}: stop it, or choose another data folder with --home`,
    )
  }
  await keepHostKeys(folders)
  return homeIdOf(folders)
}

/** Releases before 0.2 kept the host keys that git has seen elsewhere; one of them may come back if a take-over fails. */
async function keepHostKeys({ home, control, gitHome }: Folders): Promise<void> {
  if (await mkdir(control, { recursive: true, mode: 0o700 })) {
    await mkdir(gitHome, { mode: 0o700 })
    await copyFile(join(home, "git-home", "known_hosts"), join(gitHome, "known_hosts")).catch(ifCode(missing))
  }
}

/** Removes the keys that a control plane left which was killed during a fetch. */
export async function removeLeftovers({ gitKeys, comparedCode }: Folders): Promise<void> {
  await rm(gitKeys, { recursive: true, force: true })
  await rm(comparedCode, { recursive: true, force: true })
}

/** The id of the home, generated at the first call. */
export const homeIdOf = ({ home }: Pick<Folders, "home">): Promise<string> =>
  readOrMake(join(home, "id"), () => randomUUID())

/** The id of the home whose backup this one was restored from. */
export const restoredFromOf = ({ home }: Pick<Folders, "home">): Promise<string | undefined> =>
  readFile(join(home, restoredFromFile), "utf8").catch(ifCode(missing))

/** Turns the folder of a restored backup into a home of its own: it does not touch what runs for the original, nor its scheduled backups. */
export async function takeOwnId(folder: string): Promise<void> {
  await rename(join(folder, "id"), join(folder, restoredFromFile))
  // The control plane, which may be another user, reads it.
  await chmod(join(folder, restoredFromFile), 0o644)
}

async function readOrMake(file: string, make: () => string): Promise<string> {
  await createWhole(file, make())
  return readFile(file, "utf8")
}
