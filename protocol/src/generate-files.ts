/** Writes the files that are generated from the schemas: `npm run generate -w protocol`. */
import { readFileSync, writeFileSync } from "node:fs"
import { buildFiles } from "./build/generated-files.js"
import { edgeFiles } from "./edge/generated-files.js"
import { listenerFiles } from "./listener/generated-files.js"
import { unitFiles } from "./unit/generated-files.js"
import { generatedFiles } from "./worker/generated-files.js"

const folder = new URL("../", import.meta.url)
const schema = (path: string): string => readFileSync(new URL(path, folder), "utf8")
const files = {
  ...generatedFiles(schema("worker/frames.schema.json")),
  ...listenerFiles(schema("listener/exchange.schema.json")),
  ...edgeFiles(schema("edge/table.schema.json")),
  ...unitFiles(schema("unit/replies.schema.json")),
  ...buildFiles(schema("build/request.schema.json")),
}
for (const [path, text] of Object.entries(files)) writeFileSync(new URL(path, folder), text)
