/** Reads files that other people's code may have created: follows no link out of the tree, blocks on no pipe, limits the size. */
import { constants } from "node:fs"
import { type FileHandle, open, readlink, realpath } from "node:fs/promises"
import { join, sep } from "node:path"
import { KnownError } from "../errors/errors.js"
import { ifCode, missing } from "../errors/if-code.js"

/** The path is not a plain file of the tree. Its content is never part of the message. */
export class UnusableFile extends KnownError {
  readonly code = "unusable_file"
}

/**
 * Reads a regular file of a tree. Follows links that stay in the tree, since repositories may contain some.
 * @param path      relative to `root`
 * @param maxBytes  largest size that is accepted
 * @returns         its text; undefined when there is no such file
 * @throws UnusableFile  it is a pipe or a folder, leads out of the tree, or is too big
 */
export async function readPlainFile(root: string, path: string, maxBytes: number): Promise<string | undefined> {
  const target = await realPathInside(root, path)
  if (target === undefined) return undefined
  // Without O_NONBLOCK, opening a named pipe would wait for its writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(target, flags).catch(ifCode(notPlain))
  if (!file) throw new UnusableFile(`${path} is no regular file`)
  try {
    return await textOf(file, { target, path, maxBytes })
  } finally {
    await file.close()
  }
}

// A link that has just replaced the file, a socket, a device that does not exist.
const notPlain = ["ELOOP", "ENXIO", "ENODEV"]

/**
 * @returns  undefined when there is no such file
 * @throws UnusableFile  the path or a link on it leads out of the tree
 */
async function realPathInside(root: string, path: string): Promise<string | undefined> {
  const top = await realpath(root)
  const target = await realpath(join(root, path)).catch(ifCode([...missing, "ELOOP"]))
  if (target === undefined || target.startsWith(top + sep)) return target
  throw new UnusableFile(`${path} leads out of the project`)
}

async function textOf(
  file: FileHandle,
  { target, path, maxBytes }: { readonly target: string; readonly path: string; readonly maxBytes: number },
): Promise<string> {
  const found = await file.stat()
  if (!found.isFile()) throw new UnusableFile(`${path} is no regular file`)
  if (found.size > maxBytes) throw new UnusableFile(`${path} is larger than ${maxBytes} bytes`)
  if ((await openedPath(file, target)) !== target) throw new UnusableFile(`${path} was moved while it was read`)
  const text = Buffer.alloc(found.size)
  const { bytesRead } = await file.read(text, 0, found.size, 0)
  return text.toString("utf8", 0, bytesRead)
}

/** The real path of the open file: a folder on the path may have been replaced by a link since the check. */
const openedPath = (file: FileHandle, otherwise: string): Promise<string> =>
  process.platform === "linux" ? readlink(`/proc/self/fd/${file.fd}`) : Promise.resolve(otherwise)
