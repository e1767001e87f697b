/**
 * The Postgres of this test process: the one that `SUPERSTEP_TEST_DATABASE_URI` names (`npm test` starts it once for all
 * files), else one of its own in a temporary folder, which is removed when the process exits.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { createLog } from "../log/log.js"
import { startPostgres } from "../postgres/start-postgres.js"
import { preparedCluster } from "./prepared-cluster.js"

export const silent = createLog({ process: "test", level: "silent" })

let started: Promise<string> | undefined

/** @returns  the superuser's connection string */
export function testCluster(): Promise<string> {
  started ??= Promise.resolve(process.env.SUPERSTEP_TEST_DATABASE_URI ?? startOwnCluster())
  return started
}

async function startOwnCluster(): Promise<string> {
  const folder = await preparedCluster()
  const postgres = await startPostgres({ folder, log: silent, stopWithParent: true, isDisposable: true })
  // The only hook that also runs after a failed test and after `process.exit`; it cannot wait for promises. It must run
  // before the hook that removes the folder.
  process.prependOnceListener("exit", () => killPostmaster(postgres.pid, join(folder, "data", "postmaster.pid")))
  return postgres.superuserUri
}

/** Kills Postgres without writing anything to disk; Postgres removes its pid file last. */
function killPostmaster(pid: number, pidFile: string): void {
  if (!existsSync(pidFile)) return
  process.kill(pid, "SIGQUIT")
  const clock = new Int32Array(new SharedArrayBuffer(4))
  for (let waits = 0; existsSync(pidFile) && waits < 500; waits++) Atomics.wait(clock, 0, 0, 10)
}
