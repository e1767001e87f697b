/** Postgres refuses to run as root, so a root process runs it as `nobody`, a user that exists everywhere and owns nothing. */
import { stat } from "node:fs/promises"
import { dirname } from "node:path"
import type { OsUser } from "../exec/spawn-detached.js"

const nobody: OsUser = { uid: 65_534, gid: 65_534 }

/** @returns  the user that Postgres must run as; undefined for our own */
export const postgresUser = (): OsUser | undefined => (process.getuid?.() === 0 ? nobody : undefined)

/**
 * Returns whether a user may enter every folder of a path, including the last one. It reads the permission bits, since
 * Postgres checks its own binary with `access()`, which ignores capabilities.
 */
export async function isReachable(path: string, user: OsUser | undefined): Promise<boolean> {
  if (!user) return true
  const { mode, uid, gid } = await stat(path)
  const executable = uid === user.uid ? mode & 0o100 : gid === user.gid ? mode & 0o010 : mode & 0o001
  if (!executable) return false
  return path === dirname(path) || isReachable(dirname(path), user)
}
