/** The companion's process: runs beside a guest until the machine stops it. */
import { createLog } from "@superstep/toolkit/log/log"
import { startCompanion } from "./companion.js"
import { readCompanionConfig } from "./config.js"

const log = createLog({ process: "companion", level: "info" })

async function main(): Promise<void> {
  const config = readCompanionConfig()
  log.level = config.logLevel
  const companion = await startCompanion(config)
  log.info({ port: config.port }, "companion listens")
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.once(signal, () => void companion.stop().finally(() => process.exit()))
}

main().catch((err: unknown) => {
  log.fatal({ err }, "the companion failed")
  process.exit(1)
})
