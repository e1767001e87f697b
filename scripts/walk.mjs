/** `npm run walk [-- options]`: builds, then walks through the console. `npm run walk -- --help` lists the options. */
import { runCompiled } from "./run-compiled.mjs"
import { explain } from "./setup.mjs"

await runCompiled("tests/dist/browser/walk/main.js").catch(explain)
