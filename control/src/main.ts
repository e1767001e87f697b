/**
 * Starts the control plane. SIGTERM and SIGINT end it in order; a second one ends it at once. SIGUSR2 ends it for another
 * one that follows: whatever it runs goes on, also with SUPERSTEP_STOP_ALL_ON_EXIT=1.
 */
import { fileURLToPath } from "node:url"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { createLog } from "@superstep/toolkit/log/log"
import { processEnvironment, readConfig } from "./config.js"
import { startControlPlane } from "./control-plane.js"

const entryOf = (name: string): string => fileURLToPath(import.meta.resolve(name))

async function main(): Promise<void> {
  const config = readConfig()
  const log = createLog({ process: "control", level: config.logLevel })
  // Located, never imported: a control plane meets an agent server only over HTTP.
  const programs = { server: entryOf("@superstep/server/main"), verify: entryOf("@superstep/worker-js/verify") }
  const starting = startControlPlane({ config, environment: processEnvironment(), log, programs })

  let isStopping = false
  // Before anything else runs: a signal in the middle of the start must not leave behind what was just started.
  const stop = (signal: NodeJS.Signals) => {
    if (isStopping) process.exit(1)
    isStopping = true
    log.info({ signal }, "control plane stops")
    const all = config.stopAllOnExit && signal !== "SIGUSR2"
    starting.then((controlPlane) => controlPlane.stop({ all })).catch(fail)
  }
  for (const name of ["SIGTERM", "SIGINT", "SIGUSR2"] as const) process.on(name, stop)
  await starting
}

function fail(error: unknown): void {
  const words = error instanceof KnownError ? error.message : error instanceof Error ? error.stack : String(error)
  process.stderr.write(`${words}\n`)
  process.exit(1)
}

main().catch(fail)
