import assert from "node:assert/strict"
import test from "node:test"
import { checkImports } from "./check-imports.mjs"

const problems = (allowed, files) =>
  checkImports(
    Object.entries(files).map(([path, text]) => ({ path, text })),
    allowed,
  ).map(({ path, line, message }) => `${path}:${line} ${message}`)

const pair = {
  "control/src/a/one.ts": 'import "../b/two.js"\n',
  "control/src/a/three.ts": "",
  "control/src/b/two.ts": "",
  "control/src/b/four.ts": '\nimport type { T } from "../a/three.js"\n',
}
const pairAllowed = { control: { a: "b", b: "a" } }

test("two folders that import each other are named with both imports, types included", () => {
  assert.deepEqual(problems({}, pair), [
    "control/src/a/one.ts:1 folders import each other: a → b → a; control/src/b/four.ts:2 imports three.ts. Move what both need to the folder that owns it",
    "control/src/b/four.ts:2 folders import each other: b → a → b; control/src/a/one.ts:1 imports two.ts. Move what both need to the folder that owns it",
  ])
})

test("a circle leads over the package's root folder, and an import beside it belongs to none", () => {
  const found = problems(
    {},
    {
      "control/src/app.ts": 'import "./a/one.js"\nimport "./c/three.js"\n',
      "control/src/a/one.ts": 'import "../b/two.js"\n',
      "control/src/b/two.ts": 'import "../context.js"\n',
      "control/src/context.ts": "",
      "control/src/c/three.ts": "",
    },
  )

  assert.equal(found.length, 3)
  assert.match(
    found[0],
    /app\.ts:1 .*\. → a → b → \.; control\/src\/a\/one\.ts:1 imports two\.ts, control\/src\/b\/two\.ts:1 imports context\.ts/,
  )
})

test("imports that run one way, and those of tests, make no circle", () => {
  const found = problems(
    {},
    {
      "control/src/a/one.ts": 'import "../b/two.js"\n',
      "control/src/b/two.ts": "",
      "control/src/b/two.test.ts": 'import "../a/one.js"\n',
    },
  )

  assert.deepEqual(found, [])
})

test("a knot of the list may stay", () => {
  assert.deepEqual(problems(pairAllowed, pair), [])
})

test("a knot of the list may not grow by a folder or by an import", () => {
  const third = { "control/src/c/five.ts": 'import "../a/one.js"\n', "control/src/a/six.ts": 'import "../c/five.js"\n' }

  const found = problems(pairAllowed, { ...pair, ...third })

  assert.equal(found.length, 2)
  assert.match(found.join("\n"), /a → c → a/)
  assert.match(found.join("\n"), /c → a → c/)
})

test("a knot that has become smaller leaves the list", () => {
  const allowed = { control: { a: "b c", b: "a", c: "a" } }

  assert.deepEqual(problems(allowed, pair), [
    'scripts/import-knots.json:1 the knot of control is smaller: write "a": "b"',
    'scripts/import-knots.json:1 the knot of control is smaller: remove "c"',
  ])
  assert.match(problems(pairAllowed, {}).join("\n"), /remove "a"/)
})

test("a knot of the Python worker is reported, imports in a function included", () => {
  const file = (path, text) => ({ path: `workers/python/superstep_worker/${path}`, text })
  const files = [
    file("main.py", "from .runs.run import Run\n"),
    file("runs/run.py", "from ..values.serialise import serialise\nfrom .drain import drain\n"),
    file("values/serialise.py", "def use():\n    from ..runs.drain import drain\n"),
  ]

  const problems = checkImports(files, {})

  assert.deepEqual(
    problems.map(({ path, line }) => [path, line]),
    [
      ["workers/python/superstep_worker/runs/run.py", 1],
      ["workers/python/superstep_worker/values/serialise.py", 2],
    ],
  )
  assert.match(problems[0].message, /runs → values → runs/)
})
