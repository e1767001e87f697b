import assert from "node:assert/strict"
import test from "node:test"
import { checkImports } from "./check-imports.mjs"

const problems = (files) =>
  checkImports(Object.entries(files).map(([path, text]) => ({ path, text }))).map(
    ({ path, line, message }) => `${path}:${line} ${message}`,
  )

const pair = {
  "control/src/a/one.ts": 'import "../b/two.js"\n',
  "control/src/a/three.ts": "",
  "control/src/b/two.ts": "",
  "control/src/b/four.ts": '\nimport type { T } from "../a/three.js"\n',
}

test("two folders that import each other are named with both imports, types included", () => {
  assert.deepEqual(problems(pair), [
    "control/src/a/one.ts:1 folders import each other: a → b → a; control/src/b/four.ts:2 imports three.ts. Move what both need to the folder that owns it",
    "control/src/b/four.ts:2 folders import each other: b → a → b; control/src/a/one.ts:1 imports two.ts. Move what both need to the folder that owns it",
  ])
})

test("a circle leads over the package's root folder, and an import beside it belongs to none", () => {
  const found = problems({
    "control/src/app.ts": 'import "./a/one.js"\nimport "./c/three.js"\n',
    "control/src/a/one.ts": 'import "../b/two.js"\n',
    "control/src/b/two.ts": 'import "../context.js"\n',
    "control/src/context.ts": "",
    "control/src/c/three.ts": "",
  })

  assert.equal(found.length, 3)
  assert.match(
    found[0],
    /app\.ts:1 .*\. → a → b → \.; control\/src\/a\/one\.ts:1 imports two\.ts, control\/src\/b\/two\.ts:1 imports context\.ts/,
  )
})

test("first-level folders import each other also from different folders below them, but for what helps tests", () => {
  const oneWay = { "control/src/a/deep/one.ts": 'import "../../b/two.js"\n', "control/src/b/two.ts": "" }
  const back = 'import type { T } from "../../a/three.js"\n'

  const found = problems({ ...oneWay, "control/src/a/three.ts": "", "control/src/b/other/four.ts": back })

  assert.equal(found.length, 2)
  assert.match(found[0], /a\/deep\/one\.ts:1 .*a → b → a; control\/src\/b\/other\/four\.ts:1 imports three\.ts/)
  assert.deepEqual(problems({ ...oneWay, "control/src/a/three.ts": "", "control/src/b/testing/four.ts": back }), [])
})

test("a knot of the Python worker is reported, imports in a function included", () => {
  const file = (path, text) => ({ path: `workers/python/superstep_worker/${path}`, text })
  const files = [
    file("main.py", "from .runs.run import Run\n"),
    file("runs/run.py", "from ..values.serialise import serialise\nfrom .drain import drain\n"),
    file("values/serialise.py", "def use():\n    from ..runs.drain import drain\n"),
  ]

  const problems = checkImports(files)

  const places = problems.map(({ path, line }) => `${path.replace("workers/python/superstep_worker/", "")}:${line}`)
  assert.deepEqual(places, ["runs/run.py:1", "values/serialise.py:2"])
  assert.match(problems[0].message, /runs → values → runs/)
})
