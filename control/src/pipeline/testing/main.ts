/** The control plane as in production, but for the programs it starts: fake units and a verify without LangGraph. */
import { fileURLToPath } from "node:url"
import { createLog } from "@superstep/toolkit/log/log"
import { processEnvironment, readConfig } from "../../config.js"
import { startControlPlane } from "../../control-plane.js"

const entry = (name: string) => fileURLToPath(new URL(`../../runtimes/testing/${name}.js`, import.meta.url))
const config = readConfig()
const starting = startControlPlane({
  config,
  environment: processEnvironment(),
  log: createLog({ process: "control", level: config.logLevel }),
  programs: { server: entry("fake-unit"), verify: entry("fake-verify") },
})
process.once("SIGTERM", () => starting.then((controlPlane) => controlPlane.stop({ all: config.stopAllOnExit })))
await starting
