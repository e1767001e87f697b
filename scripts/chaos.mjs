/** `npm run chaos [-- options]`: builds, then runs the chaos campaign. `npm run chaos -- --help` lists the options. */
import { runCompiled } from "./run-compiled.mjs"
import { explain } from "./setup.mjs"

await runCompiled("tests/dist/chaos/main.js").catch(explain)
