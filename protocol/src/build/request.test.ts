import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { buildFiles } from "./generated-files.js"

const folder = new URL("../../", import.meta.url)
const schema = readFileSync(new URL("build/request.schema.json", folder), "utf8")

test("the generated files match the schema of builds", () => {
  for (const [path, text] of Object.entries(buildFiles(schema)))
    assert.ok(readFileSync(new URL(path, folder), "utf8") === text, `${path}: run: npm run generate -w protocol`)
})

test("the README names each field of builds, and the schema limits each list, number and id", () => {
  const page = readFileSync(new URL("build/README.md", folder), "utf8")
  const { $defs } = JSON.parse(schema)
  for (const name of Object.keys($defs))
    for (const field of Object.keys($defs[name].properties ?? {}))
      assert.ok(new RegExp(`[\`"]${field}[\`"]`).test(page), `${name}: ${field}`)
  JSON.parse(schema, (key, value) => {
    if (value?.type === "array") assert.ok(value.maxItems > 0, key)
    if (value?.type === "integer") assert.ok(value.maximum > 0 && value.minimum === 0, key)
    if (value?.type === "string" && key !== "Message") assert.ok(value.maxLength > 0, key)
    return value
  })
})
