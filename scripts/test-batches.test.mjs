import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import test from "node:test"
import { pathToFileURL } from "node:url"
import { canShareProcess, inBatches } from "./test-batches.mjs"

test("a file has its process for itself when it has hooks, changes the process or starts programs", () => {
  const plain =
    'import { until } from "@superstep/toolkit/testing/until"\ntest("it works", async () => {\n  after()\n})\n'

  assert.equal(canShareProcess(plain), true)
  for (const line of [
    "after(() => server.stop())",
    'import { spawn } from "node:child_process"',
    'import { startPlatform } from "./testing/platform.js"',
    'process.env.NAME = "value"',
    't.mock.timers.enable({ apis: ["Date"] })',
  ]) {
    assert.equal(canShareProcess(`${plain}${line}\n`), false, line)
  }
})

test("files of one package share processes, and each is started exactly once", (t) => {
  const checkout = mkdtempSync(join(tmpdir(), "batches-"))
  t.after(() => rmSync(checkout, { recursive: true }))
  const names = Array.from({ length: 10 }, (_, n) => `server/dist/n${n}.test.js`)
  const scripts = ["scripts/one.test.mjs", "scripts/two.test.mjs"]
  const files = [
    "cli/dist/alone.test.js",
    "cli/dist/chaos/long.test.js",
    ...names,
    "toolkit/dist/one.test.js",
    ...scripts,
  ]
  for (const file of files) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true })
    writeFileSync(join(checkout, file), file.includes("alone") ? "after(() => 1)\n" : "test('it', () => 1)\n")
  }

  const [alone, long, first = "", second = "", one, third = "", ...rest] = inBatches(files, {
    checkout,
    folder: checkout,
  })

  assert.equal(alone, "cli/dist/alone.test.js")
  assert.equal(long, "cli/dist/chaos/long.test.js")
  assert.equal(one, "toolkit/dist/one.test.js")
  assert.deepEqual(rest, [])
  const imported = [first, second, third].map((path) => readFileSync(path, "utf8")).join("")
  const urls = [...names, ...scripts].map((name) => pathToFileURL(join(checkout, name)).href)
  assert.equal(imported, urls.map((url) => `import ${JSON.stringify(url)}\n`).join(""))
})
