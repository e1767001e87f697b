/** Writes `src/worker/frames.ts` anew: `npm run generate -w protocol`. */
import { writeFileSync } from "node:fs"
import { frameTypes } from "./generate.js"

writeFileSync(new URL("../../src/worker/frames.ts", import.meta.url), frameTypes())
