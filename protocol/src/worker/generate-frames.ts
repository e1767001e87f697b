/** Writes the files that are generated from the schema: `npm run generate -w protocol`. */
import { writeFileSync } from "node:fs"
import { frameTypes, pythonHeaderFields } from "./generate.js"

writeFileSync(new URL("../../src/worker/frames.ts", import.meta.url), frameTypes())
writeFileSync(
  new URL("../../../workers/python/superstep_worker/header_fields.py", import.meta.url),
  pythonHeaderFields(),
)
