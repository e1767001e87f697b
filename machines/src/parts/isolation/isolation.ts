/**
 * Decides which users build and run a deployment's code. A root process gives each deployment a user of its own, which may
 * read only that deployment's files; any other process runs all deployments as itself, and they are not isolated.
 */
import { dirname } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { isReachable } from "@superstep/toolkit/postgres/postgres-user"
import { TooManyDeployments } from "../../port/errors.js"

// Above all ids with a meaning below 65536 (people, services, systemd's dynamic users, `nobody`, the owner of the databases)
// and as many again; below the users of systemd's containers (524288 and up).
const firstUid = 200_000
// Numbers are never reused: a deleted deployment's user may have left files.
const mostUids = 65_000
// Above all users of deployments, and also below systemd's containers.
const builderDistance = 100_000

export interface Isolation {
  /**
   * @returns  the user of a deployment, or undefined when all run as our own user
   * @throws TooManyDeployments
   */
  user(deploymentNumber: number): OsUser | undefined
  /** Why there is no isolation although we are root, as text with the remedy. */
  readonly warning: string | undefined
}

/** The operator requires isolation, and this machine or this user cannot give it. */
export class IsolationRequired extends KnownError {
  readonly code = "isolation_required"
  /** @param warning  why there is none although we are root */
  constructor(warning: string | undefined) {
    const why =
      warning ?? "deployments are not isolated from each other, since the platform does not run as root. Run it as root"
    super(`SUPERSTEP_ISOLATION is "required": ${why}, or set SUPERSTEP_ISOLATION to "auto"`)
  }
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

/** @throws TooManyDeployments  this installation has created more deployments than it has users */
export function isolatedUser(deploymentNumber: number): OsUser {
  if (deploymentNumber > mostUids) {
    const remedy = "deploy again on a new SUPERSTEP_HOME with a database of its own"
    throw new TooManyDeployments(
      `all ${mostUids} users for deployments have been used, and none is ever reused: ${remedy}`,
    )
  }
  const uid = firstUid + deploymentNumber
  return { uid, gid: uid }
}

/** The user of the edge: no deployment has the number 0. */
export const edgeUserOf = (isolation: Pick<Isolation, "user">): OsUser | undefined => isolation.user(0)

/**
 * The user that builds a deployment: different from the deployment's user, and in its group. Install scripts are other
 * people's code, and must not reach the running agent, whose memory contains its secrets.
 */
export const builderBeside = ({ uid, gid }: OsUser): OsUser => ({ uid: uid + builderDistance, gid })

/** The user of the control plane. In the edge's group, so it may connect to what the edge may connect to. */
export const controlUserOf = (isolation: Pick<Isolation, "user">): OsUser | undefined => {
  const edge = edgeUserOf(isolation)
  return edge && builderBeside(edge)
}

const unreachable = (folder: string, isHome: boolean): string =>
  `deployments are not isolated from each other: other users cannot reach ${folder}. ` +
  (isHome
    ? "Set SUPERSTEP_HOME to a folder that they can enter, such as /var/lib/superstep"
    : "Install Superstep where they can read it, such as below /opt")
