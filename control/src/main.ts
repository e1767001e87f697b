/**
 * Starts the control plane. SIGTERM and SIGINT stop it in order; a second signal ends it at once. SIGUSR2 stops it for a
 * successor: everything it runs goes on, even with SUPERSTEP_STOP_ALL_ON_EXIT=1.
 */
import { fileURLToPath } from "node:url"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { createLog } from "@superstep/toolkit/log/log"
import { processEnvironment, readConfig } from "./config.js"
import { startControlPlane } from "./control-plane.js"

async function main(): Promise<void> {
  process.title = "superstep control plane"
  const config = readConfig()
  const log = createLog({ process: "control", level: config.logLevel })
  // Located, never imported: the control plane talks to agent servers only over HTTP.
  const programs = {
    server: fileURLToPath(import.meta.resolve("@superstep/server/main")),
    verify: fileURLToPath(import.meta.resolve("@superstep/worker-js/verify")),
    analyse: fileURLToPath(import.meta.resolve("@superstep/worker-js/analyse")),
    verifyPython: fileURLToPath(new URL("../../python/verify.py", import.meta.resolve("@superstep/worker-js/main"))),
  }
  const starting = startControlPlane({ config, environment: processEnvironment(), log, programs })

  let isStopping = false
  // Before anything else runs: a signal during the start must not leave behind what was just started.
  const stop = (signal: NodeJS.Signals) => {
    if (isStopping) process.exit(1)
    isStopping = true
    log.info({ signal }, "control plane is stopping")
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
