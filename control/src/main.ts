/** The control plane, with the machine of this computer. */
import { fileURLToPath } from "node:url"
import { start } from "./start.js"

// Located, never imported: the control plane talks to agent servers only over HTTP.
await start({
  server: fileURLToPath(import.meta.resolve("@superstep/server/main")),
  verify: fileURLToPath(import.meta.resolve("@superstep/worker-js/verify")),
  analyse: fileURLToPath(import.meta.resolve("@superstep/worker-js/analyse")),
  verifyPython: fileURLToPath(new URL("../../python/verify.py", import.meta.resolve("@superstep/worker-js/main"))),
})
