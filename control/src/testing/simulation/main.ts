/** `npm run simulate -- planner`: histories of the planner in simulated time, one a seed. */
import { fileURLToPath } from "node:url"
import { runCampaign } from "@superstep/toolkit/testing/simulation/histories"

await runCampaign({
  name: "planner",
  what: "Runs the planner, the pipeline and the reconciler in simulated time, on a real database.",
  program: fileURLToPath(new URL("histories-main.js", import.meta.url)),
})
