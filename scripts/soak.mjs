/** `npm run soak [-- options]`: builds, then runs the soak test. `npm run soak -- --help` lists the options. */
import { runCompiled } from "./run-compiled.mjs"
import { explain } from "./setup.mjs"

await runCompiled("tests/dist/soak/main.js").catch(explain)
