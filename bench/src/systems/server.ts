/** The agent server as `superstep serve` runs it, on a Unix socket and an embedded Postgres with a database of its own. */
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { createLog } from "@superstep/toolkit/log/log"
import { type RunningPostgres, startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { pathTo } from "../paths.js"
import type { Cleanup } from "../processes.js"
import { type Kind, onSocket, type Place } from "./system.js"

const workers = 2

/** @param postgres  may serve several servers, one after the other */
export async function server({ folder }: Place, postgres: RunningPostgres): Promise<Kind> {
  const newDatabase = () =>
    createDatabase({ adminUri: postgres.superuserUri, name: `bench_${randomBytes(4).toString("hex")}` })
  // Those that are started to see how long it takes must not share the runs of the one that goes on.
  const [databaseUri, startUri] = [await newDatabase(), await newDatabase()]
  let count = 0
  return {
    name: "server",
    saysEnd: true,
    pids: [postgres.pid],
    prepare: async () => {
      const socketPath = join(folder, `server-${++count}.sock`)
      const env = {
        SUPERSTEP_CONFIG: pathTo("graphs/langgraph.json"),
        DATABASE_URI: count === 1 ? databaseUri : startUri,
        SUPERSTEP_LISTEN: `unix:${socketPath}`,
        SUPERSTEP_WORKERS: `${workers}`,
        // What is left of a scenario that failed need not be finished.
        BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "0",
        LOG_LEVEL: "warn",
      }
      const argv = [process.execPath, pathTo("../server/dist/main.js")] as const
      return { program: { argv, env, logFile: join(folder, "server.log") }, target: onSocket(socketPath) }
    },
  }
}

/** The Postgres of a whole benchmark, as an installation has it: durable, fsync on. */
export async function startDatabases(folder: string, cleanup: Cleanup): Promise<RunningPostgres> {
  const log = createLog({ process: "bench", level: "warn" })
  const postgres = await startPostgres({ folder: join(folder, "postgres"), log, stopWithParent: true })
  cleanup.add(() => postgres.stop())
  return postgres
}
