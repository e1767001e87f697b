/**
 * Who builds and runs a deployment's code. A root process gives each deployment a user of its own, which may read only
 * that deployment's files; every other process runs all deployments as itself, and they are not kept apart.
 */
import { dirname } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { isReachable } from "@superstep/toolkit/postgres/postgres-user"

// Above all that has a meaning below 65536 (people, services, systemd's dynamic users, `nobody`, who owns the databases)
// and as many again; below the users of systemd's containers (524288 and up).
const firstUid = 200_000
// Numbers are never used twice: a deleted deployment's user may have left files.
const mostUids = 65_000
// Above all users of deployments, and below systemd's containers as well.
const builderDistance = 100_000

export class TooManyDeployments extends KnownError {
  readonly code = "too_many_deployments"
}

export interface Isolation {
  /**
   * @returns the user of a deployment, or undefined when all run as we do
   * @throws TooManyDeployments
   */
  user(uidOffset: number): OsUser | undefined
  /** Why there is no isolation although we are root, in words that name the remedy. */
  readonly warning: string | undefined
}

const none: Isolation = { user: () => undefined, warning: undefined }

/**
 * @param home      the data folder
 * @param programs  files that other users must be able to read: Node, the agent server, the worker, the edge
 */
export async function decideIsolation(home: string, programs: readonly string[]): Promise<Isolation> {
  if (process.getuid?.() !== 0) return none
  for (const folder of [home, ...programs.map(dirname)]) {
    if (await isReachable(folder, { uid: firstUid, gid: firstUid })) continue
    return { ...none, warning: unreachable(folder, folder === home) }
  }
  return { user: isolatedUser, warning: undefined }
}

/** @throws TooManyDeployments  this installation has made more deployments than it has users for */
export function isolatedUser(uidOffset: number): OsUser {
  if (uidOffset > mostUids) {
    const remedy = "move what is in use to a new SUPERSTEP_HOME with a database of its own"
    throw new TooManyDeployments(`all ${mostUids} users for deployments have been given out: ${remedy}`)
  }
  const uid = firstUid + uidOffset
  return { uid, gid: uid }
}

/** Who the edge runs as: no deployment has the number 0. */
export const edgeUserOf = (isolation: Pick<Isolation, "user">): OsUser | undefined => isolation.user(0)

/**
 * Who builds a deployment: a user beside its own, in its group. Install scripts are other people's code, and must not
 * reach the running agent, whose memory holds its secrets.
 */
export const builderBeside = ({ uid, gid }: OsUser): OsUser => ({ uid: uid + builderDistance, gid })

const unreachable = (folder: string, isHome: boolean): string =>
  `deployments are not isolated from each other: other users cannot reach ${folder}. ` +
  (isHome
    ? "Set SUPERSTEP_HOME to a folder that they can enter, such as /var/lib/superstep"
    : "Install Superstep where they can read it, such as below /opt")
