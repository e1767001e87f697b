import assert from "node:assert/strict"
import test from "node:test"
import { chosenFiles, filesWithWideTests } from "./test-order.mjs"

test("files of wide tests start only in a run with wide tests, also when they are named", () => {
  const all = ["control/dist/one.test.js", "control/dist/two.wide.test.js", "tests/dist/two.test.js"]
  const wide = filesWithWideTests(all, "1")
  const none = filesWithWideTests(all, undefined)

  assert.deepEqual(chosenFiles(all, { words: [], wide }), { files: all, leftOut: [] })
  assert.deepEqual(chosenFiles(all, { words: ["two"], wide: none }), { files: [all[2]], leftOut: [all[1]] })
  assert.deepEqual(chosenFiles(all, { words: ["two.wide"], wide: none }), { files: [], leftOut: [all[1]] })
})

test("the shares of the wide tests are all of them, each file in one share, and of about one size", () => {
  const all = Array.from({ length: 20 }, (_, n) => `tests/dist/n${n}${n % 4 === 0 ? ".wide" : ""}.test.js`)

  const shares = ["1/3", "2/3", "3/3"].map((value) => filesWithWideTests(all, value))

  assert.deepEqual(shares.flatMap((share) => [...share]).sort(), [...all].sort())
  for (const share of shares) {
    assert.ok(share.size >= 6 && share.size <= 7)
    assert.ok([...share].filter((file) => file.includes(".wide.")).length <= 2)
  }
})

test("a share that does not exist is refused", () => {
  for (const value of ["0/3", "4/3", "yes", "1/"]) assert.throws(() => filesWithWideTests([], value), /use 1 for all/)
})
