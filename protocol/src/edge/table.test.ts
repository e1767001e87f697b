import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { edgeFiles } from "./generated-files.js"

const folder = new URL("../../", import.meta.url)
const schema = readFileSync(new URL("edge/table.schema.json", folder), "utf8")

test("the generated files match the schema of the table", () => {
  for (const [path, text] of Object.entries(edgeFiles(schema)))
    assert.ok(readFileSync(new URL(path, folder), "utf8") === text, `${path}: run: npm run generate -w protocol`)
})

test("the README names each field of the table, and the schema limits each list and text", () => {
  const page = readFileSync(new URL("edge/README.md", folder), "utf8")
  const { $defs } = JSON.parse(schema)
  for (const name of ["Table", "Route", "Unit", "RoutedHostName", "PreflightRule", "Challenge"])
    for (const field of Object.keys($defs[name].properties))
      assert.ok(new RegExp(`[\`"]${field}[\`"]`).test(page), `${name}: ${field}`)
  JSON.parse(schema, (key, value) => {
    if (value?.type === "array") assert.ok(value.maxItems > 0, key)
    if (value?.type === "string") assert.ok(value.maxLength > 0 || /\{[\d,]+\}\$$/.test(value.pattern), key)
    return value
  })
})
