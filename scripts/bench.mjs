/** `npm run bench [-- options]`: compiles and measures. `npm run bench -- --help` tells the options. */
import { runCompiled } from "./run-compiled.mjs"
import { explain } from "./setup.mjs"

await runCompiled("bench/dist/main.js").catch(explain)
