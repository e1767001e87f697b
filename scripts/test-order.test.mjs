import assert from "node:assert/strict"
import test from "node:test"
import { chosenFiles, startingOrder } from "./test-order.mjs"

test("files that start installations come first, and each package keeps its order", () => {
  const files = ["bench/a.test.js", "server/a.test.js", "tests/b.test.js", "tests/a.test.js", "cli/a.test.js"]

  assert.deepEqual(startingOrder(files), [
    "bench/a.test.js",
    "cli/a.test.js",
    "tests/b.test.js",
    "tests/a.test.js",
    "server/a.test.js",
  ])
})

test("files of wide tests start only in a run with wide tests, also when they are named", () => {
  const all = ["control/dist/one.test.js", "control/dist/two.wide.test.js", "tests/dist/two.test.js"]

  assert.deepEqual(chosenFiles(all, { words: [], wide: true }), { files: all, leftOut: [] })
  assert.deepEqual(chosenFiles(all, { words: ["two"], wide: false }), { files: [all[2]], leftOut: [all[1]] })
  assert.deepEqual(chosenFiles(all, { words: ["two.wide"], wide: false }), { files: [], leftOut: [all[1]] })
})
