/** Each protocol is declared in one schema: what is generated from it, what its page tells, and what it limits. */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { buildFiles } from "../build/generated-files.js"
import { edgeFiles } from "../edge/generated-files.js"
import { listenerFiles } from "../listener/generated-files.js"
import { unitFiles } from "../unit/generated-files.js"
import { generatedFiles } from "../worker/generated-files.js"

const folder = new URL("../../", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, folder), "utf8")

for (const [path, filesOf] of [
  ["build/request.schema.json", buildFiles],
  ["edge/table.schema.json", edgeFiles],
  ["listener/exchange.schema.json", listenerFiles],
  ["unit/replies.schema.json", unitFiles],
  ["worker/frames.schema.json", generatedFiles],
] as const) {
  test(`the generated files match ${path}`, () => {
    for (const [file, text] of Object.entries(filesOf(read(path))))
      assert.ok(read(file) === text, `${file}: run: npm run generate -w protocol`)
  })
}

const isLimited = ({ type, maxItems, maximum, minimum, maxLength, pattern }: Record<string, unknown>): boolean => {
  if (type === "array") return Number(maxItems) > 0
  if (type === "integer") return Number(maximum) > 0 && minimum === 0
  return type !== "string" || Number(maxLength) > 0 || /\{[\d,]+\}\$$/.test(String(pattern))
}

for (const name of ["build/request", "edge/table", "unit/replies"]) {
  test(`the README names each field of ${name}, and the schema limits each list, number and text`, () => {
    const page = read(`${name.split("/")[0]}/README.md`)
    const schema = read(`${name}.schema.json`)
    const { $defs } = JSON.parse(schema) as { $defs: Record<string, { properties?: object }> }
    for (const [kind, { properties = {} }] of Object.entries($defs))
      for (const field of Object.keys(properties))
        assert.ok(new RegExp(`[\`"]${field}[\`"]`).test(page), `${kind}: ${field}`)
    JSON.parse(schema, (key, value) => {
      assert.ok(key === "Message" || isLimited(value ?? {}), key)
      return value
    })
  })
}
