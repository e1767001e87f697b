/** The control plane as in production, except for the programs it starts: fake units, and programs of builds without LangGraph. */
import { fileURLToPath } from "node:url"
import { createLog } from "@superstep/toolkit/log/log"
import { processEnvironment, readConfig } from "../../config.js"
import { startControlPlane } from "../../control-plane.js"

const entry = (name: string) => fileURLToPath(import.meta.resolve(`@superstep/control/machines/testing/${name}`))
const config = readConfig()
const starting = startControlPlane({
  config,
  environment: processEnvironment(),
  log: createLog({ process: "control", level: config.logLevel }),
  programs: {
    server: entry("fake-unit"),
    verify: entry("fake-verify"),
    verifyPython: "",
    analyse: entry("fake-analyse"),
  },
})
process.once("SIGTERM", () => starting.then((controlPlane) => controlPlane.stop({ all: config.stopAllOnExit })))
await starting
