/** Writes the files that are generated from the schema: `npm run generate -w protocol`. */
import { readFileSync, writeFileSync } from "node:fs"
import { generatedFiles } from "./worker/generated-files.js"

const folder = new URL("../", import.meta.url)
const schema = readFileSync(new URL("worker/frames.schema.json", folder), "utf8")
for (const [path, text] of Object.entries(generatedFiles(schema))) writeFileSync(new URL(path, folder), text)
