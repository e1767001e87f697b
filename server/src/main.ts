/** The agent server's process: reads its settings, starts the server, and stops it on a signal. */
import { readFile } from "node:fs/promises"
import { basename, dirname, resolve } from "node:path"
import { takeSettingsFile } from "@superstep/toolkit/config/settings-file"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { logBrokenRules } from "@superstep/toolkit/log/broken-rules"
import { createLog } from "@superstep/toolkit/log/log"
import { startAgentServer } from "./agent-server.js"
import { readConfig } from "./config.js"
import { processTitle } from "./workers/process-title.js"

const log = createLog({ process: "server", level: "info" })

async function main(): Promise<void> {
  const env = takeSettingsFile(process.env)
  const config = readConfig(env)
  log.level = config.logLevel
  logBrokenRules(log)
  // The platform finds a unit by the title that it gave it, so a unit keeps its title.
  if (config.revisionId === undefined)
    process.title = processTitle(config.name ?? basename(dirname(resolve(config.configPath))), "server")
  const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"))
  const server = await startAgentServer({ config, version, log, env })
  let isStopping = false
  const stop = async (signal: NodeJS.Signals) => {
    // A second signal stops the process without waiting for runs.
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
  else log.fatal({ err: error }, "the server failed")
  process.exitCode = 1
  // Open handles must not keep a partly started server alive.
  process.exit()
}

main().catch(fail)
