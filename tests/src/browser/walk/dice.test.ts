import assert from "node:assert/strict"
import { test } from "node:test"
import { diceOf } from "./dice.js"

const names = Array.from({ length: 20 }, (_, n) => `button ${n}`)
const same = (name: string) => name

test("what a step chooses depends on the seed and the choices, not on their order nor on the steps before", () => {
  for (let step = 0; step < 50; step++) {
    const chosen = diceOf(1, step).among(names, same)

    assert.equal(diceOf(1, step).among(names.toReversed(), same), chosen)
    assert.equal(
      diceOf(1, step).among(
        names.filter((name, n) => name === chosen || n % 2 === 0),
        same,
      ),
      chosen,
    )
  }
})

test("seeds and steps choose differently, and each choice has its turn", () => {
  const chosen = (seed: number) => Array.from({ length: 400 }, (_, step) => diceOf(seed, step).among(names, same))

  assert.notDeepEqual(chosen(1), chosen(2))
  assert.equal(new Set(chosen(1)).size, names.length)
})

test("nothing is chosen from nothing", () => {
  assert.equal(diceOf(1, 1).among([], same), undefined)
})
