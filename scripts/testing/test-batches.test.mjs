import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import test from "node:test"
import { pathToFileURL } from "node:url"
import { canShareProcess, inBatches } from "./test-batches.mjs"
import { mostExpensive } from "./test-costs.mjs"

/** A checkout with these files, by their paths. */
function checkoutWith(t, files) {
  const checkout = mkdtempSync(join(tmpdir(), "batches-"))
  t.after(() => rmSync(checkout, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(checkout, path)), { recursive: true })
    writeFileSync(join(checkout, path), text)
  }
  return checkout
}

const plainTest = "test('it', () => 1)\n"

test("a file has its process for itself when it changes or measures the process", () => {
  const plain =
    'import { until } from "@superstep/toolkit/testing/until"\ntest("it works", async () => {\n  after()\n})\n'

  assert.equal(canShareProcess(plain), true)
  for (const line of [
    'import { Worker } from "node:worker_threads"',
    'process.env.NAME = "value"',
    "delete process.env.NAME",
    "process.chdir(folder)",
    "process.memoryUsage()",
    't.mock.timers.enable({ apis: ["Date"] })',
  ]) {
    assert.equal(canShareProcess(`${plain}${line}\n`), false, line)
  }
  for (const line of ['const isNamed = process.env.NAME === "value"', "spawn(name, { env: { ...process.env } })"]) {
    assert.equal(canShareProcess(`${plain}${line}\n`), true, line)
  }
})

test("files of one package share processes, each is started exactly once, and the longest come first", (t) => {
  const names = Array.from({ length: 80 }, (_, n) => `server/dist/n${n}.test.js`)
  const scripts = ["scripts/one.test.mjs", "scripts/two.test.mjs"]
  const apart = ["cli/dist/alone.test.js", "cli/dist/long.wide.test.js"]
  const files = [...apart, ...names, "toolkit/dist/one.test.js", ...scripts]
  const textOf = (file) => (file.includes("alone") ? "process.env.A = '1'\n" : plainTest)
  const checkout = checkoutWith(t, Object.fromEntries(files.map((file) => [file, textOf(file)])))
  const urls = (names) => names.map((name) => pathToFileURL(join(checkout, name)).href)

  const batches = inBatches(files, { checkout, folder: checkout })
  const [long, first = "", second = "", third = "", alone, one, ...rest] = batches

  assert.deepEqual(importedBy(alone), urls(["cli/dist/alone.test.js"]))
  assert.deepEqual(importedBy(long), urls(["cli/dist/long.wide.test.js"]))
  assert.deepEqual(importedBy(one), urls(["toolkit/dist/one.test.js"]))
  assert.deepEqual(rest, [])
  assert.deepEqual([first, second, third].flatMap(importedBy), urls([...names, ...scripts]))
})

test("hooks of a file apply to its own tests only, and a file that cannot be imported fails", (t) => {
  const checkout = checkoutWith(t, {
    "scripts/state.mjs": "export const state = { isOver: false }\n",
    "scripts/one.test.mjs": `import { after, beforeEach, test } from "node:test"
import { state } from "./state.mjs"
let hooks = 0
beforeEach(() => { hooks += 1 })
after(() => { state.isOver = true })
test("once for each test of its own", () => { if (hooks !== 1 || state.isOver) throw new Error(String(hooks)) })
`,
    "scripts/two.test.mjs": `import { test } from "node:test"
import { state } from "./state.mjs"
test("after the end of the first file", () => { if (!state.isOver) throw new Error("too early") })
`,
    "scripts/three.test.mjs": 'throw new Error("cannot be imported")\n',
  })
  const batch = (...names) => {
    const files = names.map((name) => `scripts/${name}.test.mjs`)
    return inBatches(files, { checkout, folder: checkout })[0]
  }
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const run = (file) => spawnSync(process.execPath, [file], { encoding: "utf8", env })

  const good = run(batch("one", "two"))
  const bad = run(batch("three", "two"))

  assert.equal(good.status, 0, good.stdout + good.stderr)
  assert.match(good.stdout, /# pass 2/)
  const costs = mostExpensive(readFileSync(join(checkout, "costs"), "utf8")).map(({ file }) => file)
  for (const name of ["modules of scripts", "scripts/one.test.mjs", "scripts/two.test.mjs"])
    assert.ok(costs.includes(name), name)
  assert.equal(bad.status, 1)
  assert.match(bad.stdout, /cannot be imported/)
})

test("a process whose tests have ended is ended, and fails, when something holds it", (t) => {
  const checkout = checkoutWith(t, {
    "scripts/held.test.mjs": `import { test } from "node:test"
setInterval(() => undefined, 1000)
test("it", () => undefined)
`,
  })
  const [batch] = inBatches(["scripts/held.test.mjs"], { checkout, folder: checkout, patience: 10 })
  const { NODE_TEST_CONTEXT, ...env } = process.env

  const { status, stdout, stderr } = spawnSync(process.execPath, [batch], { encoding: "utf8", env })

  assert.equal(status, 1)
  assert.match(stdout, /ok 1 - it/)
  assert.match(stderr, /all tests of this process have ended, and it goes on: .*Timeout/)
})

test("files that start programs share processes in smaller numbers, and files that take minutes have their own", (t) => {
  const texts = [
    ...Array.from({ length: 17 }, (_, n) => [`starts-${n}`, 'import "./testing/platform.js"\n']),
    ...["plain", "minutes.wide"].map((name) => [name, plainTest]),
    ["long", "test('it', { skip: unlessLong('takes minutes') })\n"],
  ]
  const contents = Object.fromEntries(texts.map(([name, text]) => [`cli/dist/${name}.test.js`, text]))
  const checkout = checkoutWith(t, contents)
  const files = Object.keys(contents)

  const sizesOf = (batches) => batches.map((path) => importedBy(path).length)
  assert.deepEqual(sizesOf(inBatches(files, { checkout, folder: checkout })), [1, 16, 1, 2])
  assert.deepEqual(sizesOf(inBatches(files, { checkout, folder: checkout, runsLong: true })), [1, 1, 16, 1, 1])
  const wideBatches = inBatches(files, { checkout, folder: checkout, wide: new Set(files.slice(0, 4)) })
  assert.deepEqual(sizesOf(wideBatches), [1, 13, 3, 1, 2])
  const isWide = wideBatches.map((path) => readFileSync(path, "utf8").includes('SUPERSTEP_WIDE_TESTS = "1"'))
  assert.deepEqual(isWide, [false, false, true, true, false])
  assert.equal(inBatches(files, { checkout, folder: checkout, apart: true }).length, files.length)
})

const importedBy = (path) => [...readFileSync(path, "utf8").matchAll(/import\("(.*)"\)/g)].map(([, url]) => url)
