/**
 * The folders of a cluster. All its files are below one folder: `data` (the cluster), `run` (its socket), `password` and
 * `postgres.log`.
 */

import { createHash } from "node:crypto"
import { chmod, chown, lstat, mkdir, mkdtemp, realpath, rmdir, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { KnownError } from "../errors/errors.js"
import type { OsUser } from "../exec/spawn-detached.js"
import { isReachable } from "./postgres-user.js"

export class UnsafeFolder extends KnownError {
  readonly code = "unsafe_folder"
}

/** The kernel allows 108 bytes for a socket's path (104 on macOS), including its terminating zero. */
const socketPathBytes = 100
const socketName = ".s.PGSQL.5432"

/** Contains the clusters of a root process whose own folder other users cannot enter, such as one below /root. */
const openFolder = "/var/lib/superstep"

/**
 * Creates the folder of a cluster. If Postgres' user cannot enter it, the real folder is created elsewhere and this one
 * becomes a link to it.
 * @returns  the real path
 * @throws UnsafeFolder  Postgres' user cannot enter the folder, and it is not empty
 */
export async function makeClusterFolder(folder: string, user: OsUser | undefined): Promise<string> {
  for (;;) {
    await mkdir(folder, { recursive: true, mode: 0o755 })
    const path = await realpath(folder)
    if (await isReachable(path, user)) return path
    await linkElsewhere(folder)
  }
}

async function linkElsewhere(folder: string): Promise<void> {
  await mkdir(openFolder, { recursive: true, mode: 0o755 })
  const elsewhere = await mkdtemp(join(openFolder, "postgres-"))
  await chmod(elsewhere, 0o755)
  try {
    await rmdir(folder)
    await symlink(elsewhere, folder)
  } catch (cause) {
    await rmdir(elsewhere)
    // Another start does the same at this moment: check again.
    if (["ENOENT", "ENOTDIR", "EEXIST"].includes((cause as NodeJS.ErrnoException).code ?? "")) return
    throw new UnsafeFolder(
      `Postgres of a root process runs as the user nobody, who cannot enter ${folder}: choose another data folder`,
      {
        cause,
      },
    )
  }
}

/**
 * Creates the folder of the cluster's socket: `run` beside the data, or a short one below the system's temporary folder if
 * the path would be too long for a socket.
 * @throws UnsafeFolder  somebody else created the latter before
 */
export const makeSocketFolder = async (folder: string, user: OsUser | undefined): Promise<string> =>
  makeOwned(await socketFolderOf(folder), user)

/** Where the socket of a cluster is. */
export async function socketFolderOf(folder: string): Promise<string> {
  const near = join(folder, "run")
  if (Buffer.byteLength(join(near, socketName)) < socketPathBytes) return near
  const hash = createHash("sha256").update(folder).digest("hex").slice(0, 16)
  return join(await realpath(tmpdir()), `superstep-${hash}`)
}

async function makeOwned(folder: string, user: OsUser | undefined): Promise<string> {
  const owner = user ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  try {
    await mkdir(folder, { mode: 0o755 })
    await chmod(folder, 0o755)
    await chown(folder, owner.uid, owner.gid)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  }
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== owner.uid || (found.mode & 0o022) !== 0) {
    throw new UnsafeFolder(`${folder} belongs to another user: remove it, or choose another data folder`)
  }
  return folder
}
