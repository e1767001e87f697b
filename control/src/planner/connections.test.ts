import assert from "node:assert/strict"
import test from "node:test"
import { shareFor } from "./connections.js"

/** How much each of many units gets, one after the other. */
function given(budget: number, most = 12): number[] {
  const shares: number[] = []
  for (;;) {
    const used = shares.reduce((sum, share) => sum + share, 0)
    const share = shareFor({ budget, used, most })
    if (share === undefined) return shares
    shares.push(share)
  }
}

test("the first units get a generous share, the others a small one, and none more than there is", () => {
  assert.deepEqual(given(40), [12, 6, 6, 6, 6])
  assert.deepEqual(given(5), [])
  for (const budget of [6, 17, 100, 177, 1000]) {
    const sum = given(budget).reduce((total, share) => total + share, 0)
    assert.ok(sum <= budget && sum > budget - 6, `${sum} of ${budget}`)
  }
})

test("a deployment that asks for fewer connections gets fewer, but never too few to work", () => {
  assert.equal(shareFor({ budget: 100, used: 0, most: 8 }), 8)
  assert.equal(shareFor({ budget: 100, used: 0, most: 1 }), 6)
})
