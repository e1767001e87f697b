/** `npm run bench [-- options]`: builds, then runs the benchmarks. `npm run bench -- --help` lists the options. */
import { runCompiled } from "./run-compiled.mjs"
import { explain } from "./setup.mjs"

await runCompiled("bench/dist/command/main.js").catch(explain)
