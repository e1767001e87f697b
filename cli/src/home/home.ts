/** The data folder: where everything of an installation lies. */
import { appendFileSync } from "node:fs"
import { mkdir } from "node:fs/promises"
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
  /** Who runs on this folder at the moment. */
  readonly owner: string
  /** What is told of Postgres and of this program goes into `logs/cli.log`. */
  readonly log: Log
}

export class HomeNotWritable extends KnownError {
  readonly code = "home_not_writable"
}

/** Where everything of a data folder lies; nothing is looked at and nothing made. */
export function homeAt(path: string): Home {
  const folder = resolve(path)
  const logs = join(folder, "logs")
  const write = (line: string) => appendFileSync(join(logs, "cli.log"), line)
  return {
    folder,
    logs,
    postgres: join(folder, "postgres"),
    git: join(folder, "git"),
    credentials: join(folder, "credentials.json"),
    serverId: join(folder, "server-id"),
    owner: join(folder, "running.json"),
    log: createLog({ process: "cli", level: "info" }, { write }),
  }
}

/**
 * Makes the folder when it is missing.
 * @throws HomeNotWritable  naming the folder and the option that chooses another
 */
export async function openHome(path: string): Promise<Home> {
  const home = homeAt(path)
  const { folder, logs } = home
  try {
    // Postgres and deployments of a root process pass through the folder as other users; logs are for its owner.
    await mkdir(folder, { recursive: true, mode: 0o755 })
    await mkdir(logs, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const reason = (cause as Error).message
    throw new HomeNotWritable(`the data folder ${folder} cannot be made (${reason}): choose another with --home`, {
      cause,
    })
  }
  return home
}
