/** The data folder, which contains everything of an installation. */
import { appendFileSync, existsSync } from "node:fs"
import { appendFile, mkdir, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { createLog, type Log } from "@superstep/toolkit/log/log"

export interface Home {
  readonly folder: string
  readonly postgres: string
  readonly logs: string
  readonly git: string
  readonly credentials: string
  /** The id of the agent server that `dev` and `serve` run. */
  readonly serverId: string
  /** The file that names the program on this folder. */
  readonly owner: string
  /** A backup that is being unpacked: while it is there, the folder is incomplete. */
  readonly restoring: string
  /** A backup that is unpacked, and is being moved into the folder. */
  readonly restored: string
  /** Logs about Postgres and about this program go to `logs/cli.log`. */
  readonly log: Log
}

export class HomeNotWritable extends KnownError {
  readonly code = "home_not_writable"
}

/** The data folder belongs to another user, such as root after a start with sudo. */
export class HomeOfAnotherUser extends KnownError {
  readonly code = "home_of_another"
}

/** A `superstep restore` into the data folder is under way, or has stopped before its end. */
export class HomeHalfRestored extends KnownError {
  readonly code = "home_half_restored"
}

const logFileIn = (logs: string): string => join(logs, "cli.log")

/** The paths of a data folder; reads nothing and creates nothing. */
export function homeAt(path: string): Home {
  const folder = resolve(path)
  const logs = join(folder, "logs")
  const write = (line: string) => appendFileSync(logFileIn(logs), line)
  return {
    folder,
    logs,
    postgres: join(folder, "postgres"),
    git: join(folder, "git"),
    credentials: join(folder, "credentials.json"),
    serverId: join(folder, "server-id"),
    owner: join(folder, "running.json"),
    restoring: join(folder, "restoring.files"),
    restored: join(folder, "restored.files"),
    log: createLog({ process: "cli", level: "info" }, { write }),
  }
}

/**
 * @param path  a file or folder in it that may not be used
 * @returns  undefined when it belongs to this user
 */
export async function ownedByAnother({ folder }: Home, path: string): Promise<HomeOfAnotherUser | undefined> {
  const { uid } = await stat(path)
  if (uid === process.geteuid?.()) return undefined
  const owner = uid === 0 ? "root" : `the user with the id ${uid}`
  const ways = `run it as ${owner}${uid === 0 ? " (sudo)" : ""}, change the owner of the folder (chown -R), or choose another folder with --home`
  return new HomeOfAnotherUser(`the data folder ${folder} belongs to ${owner}, who started Superstep on it: ${ways}`)
}

/**
 * Creates the folder when it is missing.
 * @throws HomeNotWritable  naming the folder and the option for another one
 * @throws HomeOfAnotherUser    it belongs to another user
 * @throws HomeHalfRestored     a restore into it has not ended
 */
export async function openHome(path: string): Promise<Home> {
  const home = homeAt(path)
  const { folder, logs, restoring, restored } = home
  if (existsSync(restoring) || existsSync(restored)) {
    const ways = "wait until that has ended; if superstep restore was killed or has failed, run it again"
    throw new HomeHalfRestored(`a backup is being restored into ${folder}: ${ways}`)
  }
  try {
    // Postgres and deployments of a root process pass through the folder as other users; logs are only for its owner.
    await mkdir(folder, { recursive: true, mode: 0o755 })
    await mkdir(logs, { recursive: true, mode: 0o700 })
    await appendFile(logFileIn(logs), "")
  } catch (cause) {
    if (isDenied(cause) && existsSync(folder)) {
      const another = await ownedByAnother(home, folder)
      if (another) throw another
    }
    const reason = (cause as Error).message
    throw new HomeNotWritable(
      `the data folder ${folder} cannot be used (${reason}): choose another folder with --home`,
      {
        cause,
      },
    )
  }
  return home
}

/** Pure. Root is denied nothing, so this is about another user's file, or one whose mode its owner changed. */
export const isDenied = (error: unknown): boolean =>
  ["EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")
