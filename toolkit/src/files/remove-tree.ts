/**
 * Deletes folders that other users may be writing to at the same time. A path is reliable only while nobody else can change
 * the folders on it, so each folder is taken from its owner before we read it.
 */
import { randomUUID } from "node:crypto"
import { chmod, lchown, lstat, readdir, rename, rmdir, unlink } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "../errors/if-code.js"

// Keeps the threads for file operations busy, also in a folder of a million files.
const filesAtOnce = 64

/**
 * Deletes a folder with everything in it, or a file. Links are deleted and never followed, whatever other processes do
 * meanwhile, no tree is too deep, and names need not be UTF-8. Does nothing when there is nothing.
 * @param top  only we may write to the folder that contains it
 */
export async function removeTree(top: string): Promise<void> {
  if (!(await takeFolder(top))) return unlink(top).catch(ifCode(missing))
  const root = Buffer.from(top)
  const folders: Buffer[] = [root]
  for (const folder of folders) {
    for (const path of await removeFiles(folder)) {
      await takeFolder(path)
      // Folders are moved up to `top`, so that paths stay short, however deep the tree is.
      const moved = folder === root ? path : Buffer.from(join(top, randomUUID()))
      await rename(path, moved).catch(ifCode(missing))
      folders.push(moved)
    }
    if (folder !== root) await rmdir(folder).catch(ifCode(missing))
  }
  await rmdir(top).catch(ifCode(missing))
}

/** After this nobody else can change what is in it. @returns  false when it is no folder */
async function takeFolder(path: string | Buffer): Promise<boolean> {
  const found = await lstat(path).catch(ifCode(missing))
  if (!found?.isDirectory()) return false
  if (process.getuid?.() === 0) await lchown(path, 0, 0)
  await chmod(path, 0o700)
  return true
}

/** @param folder  one that we have taken  @returns  the folders in it */
async function removeFiles(folder: Buffer): Promise<Buffer[]> {
  const entries = await readdir(folder, { withFileTypes: true, encoding: "buffer" }).catch(ifCode(missing, []))
  const pathOf = ({ name }: { name: Buffer }) => Buffer.concat([folder, Buffer.from("/"), name])
  const files = entries.filter((entry) => !entry.isDirectory()).map(pathOf)
  for (let first = 0; first < files.length; first += filesAtOnce) {
    await Promise.all(files.slice(first, first + filesAtOnce).map((file) => unlink(file).catch(ifCode(missing))))
  }
  return entries.filter((entry) => entry.isDirectory()).map(pathOf)
}
