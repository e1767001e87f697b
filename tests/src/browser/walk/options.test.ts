import assert from "node:assert/strict"
import { test } from "node:test"
import { parseWalk } from "./options.js"

const now = 5_000_007

test("a walk lasts ten minutes, or as many steps as it is given", () => {
  assert.deepEqual(parseWalk([], now), { minutes: 10, steps: undefined, seed: 7 })
  assert.deepEqual(parseWalk(["--steps", "40", "--seed", "3"], now), { minutes: undefined, steps: 40, seed: 3 })
  assert.deepEqual(parseWalk(["--minutes", "0.5"], now), { minutes: 0.5, steps: undefined, seed: 7 })
})

test("an option that is unknown, or whose value is not usable, is refused", () => {
  for (const value of ["x", "", "-1", "0", "0.0", "1e3", "Infinity"])
    assert.throws(() => parseWalk([`--minutes=${value}`], now), /--minutes .*: expected a number from 0.05/)
  for (const value of ["x", "0", "1.5", "-2"])
    assert.throws(() => parseWalk([`--steps=${value}`], now), /--steps .*: expected a whole number from 1/)
  assert.throws(() => parseWalk(["--seed", "x"], now), /--seed x: expected a whole number from 0/)
  assert.throws(() => parseWalk(["--second", "5"], now), /'--second'/)
})
