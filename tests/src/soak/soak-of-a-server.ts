/** A soak from its beginning to its verdict: a server on a database of its own, load, and what is left at the end. */
import type { Database } from "@superstep/toolkit/db/database"
import { until } from "@superstep/toolkit/testing/until"
import { startAgentServer } from "../testing/agent-servers.js"
import { loggedEvents, orphans, runsOfAWorker, soakedName, workersOfAServer } from "./sample.js"
import { type SoakOptions, soak } from "./soak.js"
import { problemsOf } from "./verdict.js"

// The server keeps old logs for a minute longer than it is told, and looks every 30 s (server/src/events/sweep-events.ts).
const forgettingMs = 120_000

export interface SoakOfAServerOptions extends Omit<SoakOptions, "server" | "db"> {
  /** Waits until the server has forgotten the logs of finished runs: half a minute in which nothing happens. */
  readonly waitsForOldEvents: boolean
}

/** @returns one sentence for each thing that is wrong */
export async function soakAServer(db: Database, options: SoakOfAServerOptions): Promise<string[]> {
  await using server = await startAgentServer({
    databaseUri: `${db.uri}&application_name=${soakedName}`,
    nodeArguments: ["--inspect=127.0.0.1:0"],
    env: {
      RESUMABLE_STREAM_TTL_SECONDS: "1",
      SUPERSTEP_WORKERS: `${workersOfAServer}`,
      N_JOBS_PER_WORKER: `${runsOfAWorker}`,
    },
  })
  const soaked = await soak({ ...options, server, db })
  const left = Object.entries(await orphans(db)).filter(([, count]) => count > 0)
  const areForgotten = async () => (await loggedEvents(db)) === 0
  if (options.waitsForOldEvents) await until(areForgotten, { what: "no old event is kept", timeoutMs: forgettingMs })
  const faults = server.log().split("\n").filter(isFault)
  options.say(`${soaked.runs.at(-1)} runs, ${soaked.kills} workers killed, ${soaked.failures.length} failures`)
  return [
    ...problemsOf(soaked),
    ...left.map(([what, count]) => `${count} ${what} are left`),
    ...faults.slice(0, 10).map((line) => `the server logged an error: ${line}`),
  ]
}

/** What the server itself calls a bug. Runs that failed are judged by the clients that asked for them. */
const isFault = (line: string): boolean => /"level":"(error|fatal)"/.test(line) && !line.includes('"msg":"run ended"')
