/** `npm run chaos [-- options]`: compiles and kills. `npm run chaos -- --help` tells the options. */
import { runCompiled } from "./run-compiled.mjs"
import { explain } from "./setup.mjs"

await runCompiled("tests/dist/chaos/main.js").catch(explain)
