import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { test } from "node:test"
import { gzip, tarOf } from "./archive.js"

test("tar reads the files of an archive that the page made", async () => {
  const files = { "langgraph.json": '{"graphs":{}}', "src/graph.ts": `// größer\n${"x".repeat(600)}`, empty: "" }

  const archive = Buffer.from(await (await gzip(tarOf(files))).arrayBuffer())

  const read = (...args: string[]) => execFileSync("tar", ["-xzO", ...args], { input: archive }).toString()
  const names = execFileSync("tar", ["-tz"], { input: archive }).toString().trim().split("\n")
  assert.deepEqual(names, Object.keys(files))
  for (const [name, text] of Object.entries(files)) assert.equal(read("-f", "-", name), text)
})
