/**
 * Who builds and runs a deployment's code. A root process gives each deployment a user of its own, which may read only
 * that deployment's files; every other process runs all deployments as itself, and they are not kept apart.
 */
import { dirname } from "node:path"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { isReachable } from "@superstep/toolkit/postgres/postgres-user"

// Above what distributions give to people and services, below the ranges that containers map (65536 and up).
const firstUid = 61_000

export interface Isolation {
  /** @returns the user of a deployment, or undefined when all run as we do */
  user(uidOffset: number): OsUser | undefined
  /** Why there is no isolation although we are root, in words that name the remedy. */
  readonly warning: string | undefined
}

const none: Isolation = { user: () => undefined, warning: undefined }

/**
 * @param home      the data folder
 * @param programs  files that every unit must be able to read: Node, the agent server, the worker
 */
export async function decideIsolation(home: string, programs: readonly string[]): Promise<Isolation> {
  if (process.getuid?.() !== 0) return none
  for (const folder of [home, ...programs.map(dirname)]) {
    if (await isReachable(folder, { uid: firstUid, gid: firstUid })) continue
    return { ...none, warning: unreachable(folder, folder === home) }
  }
  return { user: isolatedUser, warning: undefined }
}

export function isolatedUser(uidOffset: number): OsUser {
  const uid = firstUid + uidOffset
  return { uid, gid: uid }
}

const unreachable = (folder: string, isHome: boolean): string =>
  `deployments are not isolated from each other: other users cannot reach ${folder}. ` +
  (isHome
    ? "Set SUPERSTEP_HOME to a folder that they can enter, such as /var/lib/superstep"
    : "Install Superstep where they can read it, such as below /opt")
