import assert from "node:assert/strict"
import test from "node:test"
import { startingOrder } from "./test-order.mjs"

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
