/** The agent server as `superstep serve` runs it, on a Unix socket, with its own database on an embedded Postgres. */
import { join } from "node:path"
import { createLog } from "@superstep/toolkit/log/log"
import { type RunningPostgres, startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { pathTo } from "../paths.js"
import type { Cleanup } from "../processes.js"
import { newDatabase } from "./new-database.js"
import { type Kind, type Launch, onSocket, type Place } from "./system.js"

const defaultWorkers = 2

/** @param postgres  may be used by several servers, one after another */
export async function server({ folder }: Pick<Place, "folder">, postgres: RunningPostgres): Promise<Kind> {
  // Servers that are started to measure the start use another database, so that they do not execute the main server's runs.
  const [databaseUri, startUri] = [await newDatabase(postgres), await newDatabase(postgres)]
  let count = 0
  return {
    name: "server",
    saysEnd: true,
    pids: [postgres.pid],
    prepare: async () => launchOn(folder, { number: ++count, databaseUri: count === 1 ? databaseUri : startUri }),
    prepareFirst: () => launchServe(join(folder, `home-${++count}`)),
  }
}

/** The same server, which keeps no traces of its runs. */
export async function untraced({ folder }: Pick<Place, "folder">, postgres: RunningPostgres): Promise<Kind> {
  // Not those of the server with traces.
  let number = 2000
  const env = { SUPERSTEP_TRACES: "off" }
  return {
    name: "untraced",
    saysEnd: true,
    pids: [postgres.pid],
    prepare: async () => launchOn(folder, { number: ++number, databaseUri: await newDatabase(postgres), env }),
  }
}

/** As a user starts it: `superstep serve` makes a Postgres and its tables in the folder. */
async function launchServe(home: string): Promise<Launch> {
  const port = await freePort()
  const options = ["--config", pathTo("graphs/langgraph.json"), "--home", home, "--port", `${port}`]
  return {
    program: {
      argv: [process.execPath, pathTo("../cli/programs/main.js"), "serve", ...options],
      env: { SUPERSTEP_WORKERS: `${defaultWorkers}`, LOG_LEVEL: "warn" },
      logFile: `${home}.log`,
    },
    target: { address: { host: "127.0.0.1", port }, prefix: "", headers: {} },
  }
}

export interface ServerOn {
  /** Distinguishes servers in one folder. */
  readonly number: number
  readonly databaseUri: string
  readonly workers?: number
  /** Overrides the default environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** How to start a server on a given database. */
export function launchOn(folder: string, { number, databaseUri, workers = defaultWorkers, env }: ServerOn): Launch {
  const socketPath = join(folder, `server-${number}.sock`)
  const settings = {
    SUPERSTEP_CONFIG: pathTo("graphs/langgraph.json"),
    DATABASE_URI: databaseUri,
    SUPERSTEP_LISTEN: `unix:${socketPath}`,
    SUPERSTEP_WORKERS: `${workers}`,
    // Runs of a failed scenario need not finish.
    BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "0",
    LOG_LEVEL: "warn",
    ...env,
  }
  const argv = [process.execPath, pathTo("../server/programs/main.js")] as const
  return { program: { argv, env: settings, logFile: join(folder, "server.log") }, target: onSocket(socketPath) }
}

/** Starts the Postgres of a benchmark with the settings of an installation: durable, fsync on. */
export async function startDatabases(folder: string, cleanup: Cleanup): Promise<RunningPostgres> {
  const log = createLog({ process: "bench", level: "warn" })
  const postgres = await startPostgres({ folder: join(folder, "postgres"), log, stopWithParent: true })
  cleanup.add(() => postgres.stop())
  return postgres
}
