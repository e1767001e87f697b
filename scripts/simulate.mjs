/** `npm run simulate [-- options]`: builds, then runs histories of the planner in simulated time. `npm run simulate -- --help` lists the options. */
import { runCompiled } from "./run-compiled.mjs"
import { explain } from "./setup.mjs"

await runCompiled("control/dist/testing/simulation/main.js").catch(explain)
