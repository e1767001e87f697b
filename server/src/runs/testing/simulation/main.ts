/** `npm run simulate -- queue`: histories of the queue in simulated time, one a seed. */
import { fileURLToPath } from "node:url"
import { runCampaign } from "@superstep/toolkit/testing/simulation/histories"

await runCampaign({
  name: "queue",
  what: "Runs the claim loops, the leases and the queue of three servers in simulated time, on a real database.",
  program: fileURLToPath(new URL("histories-main.js", import.meta.url)),
})
