/** The agent server's process: reads its settings, starts, and ends in good order when it is told to. */
import { readFile } from "node:fs/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { createLog } from "@superstep/toolkit/log/log"
import { startAgentServer } from "./agent-server.js"
import { readConfig } from "./config.js"

const log = createLog({ process: "server", level: "info" })

async function main(): Promise<void> {
  const config = readConfig(process.env)
  log.level = config.logLevel
  const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"))
  const server = await startAgentServer({ config, version, log, env: process.env })
  let isStopping = false
  const stop = async (signal: NodeJS.Signals) => {
    // A second signal is somebody who does not want to wait for the runs.
    if (isStopping) process.exit(1)
    isStopping = true
    log.info({ signal }, "server stopping")
    await server.stop()
    log.info("server stopped")
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, (name) => void stop(name).catch(fail))
}

function fail(error: unknown): void {
  if (error instanceof KnownError) log.fatal({ code: error.code }, error.message)
  else log.fatal({ err: error }, "the server cannot go on")
  process.exitCode = 1
  // What was started before the fault must not keep a half-started server alive.
  process.exit()
}

main().catch(fail)
