/** Creates our own folders in a place that everybody may write to, such as the temporary folder. */
import { chmod, lstat, mkdir } from "node:fs/promises"
import { KnownError } from "../errors/errors.js"

export class ForeignFolder extends KnownError {
  readonly code = "foreign_folder"
}

/** Returns whether a folder belongs to root, and nobody else may write to it. */
export async function isOfAdministrator(path: string): Promise<boolean> {
  const found = await lstat(path)
  return found.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0
}

/**
 * Creates a folder. An existing one may have been put there by somebody who wants to read what we store in it.
 * @throws ForeignFolder  it is a link or a file, another user's, or others may write to it
 */
export async function makeOwnFolder(path: string, mode: number): Promise<void> {
  if (await mkdir(path, { recursive: true, mode })) return chmod(path, mode)
  const found = await lstat(path)
  const isOurs = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
  if (isOurs) return
  throw new ForeignFolder(
    `${path} is not a folder of this user that only this user may write to: check who created it, and remove it`,
  )
}
