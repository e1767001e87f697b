/** `npm run soak [-- options]`: compiles and soaks. `npm run soak -- --help` tells the options. */
import { runCompiled } from "./run-compiled.mjs"
import { explain } from "./setup.mjs"

await runCompiled("tests/dist/soak/main.js").catch(explain)
