import assert from "node:assert/strict"
import { test } from "node:test"
import { putBackText } from "./put-back-text.js"

test("a message that was not sent comes before what was typed since, and nothing is lost", () => {
  const cases: readonly (readonly [unsent: string, typedSince: string, shown: string])[] = [
    ["Refund it.", "", "Refund it."],
    ["Refund it.", "\n", "Refund it."],
    ["Refund it.", "And tell her.", "Refund it.\nAnd tell her."],
    // Only files were sent.
    ["", "And tell her.", "And tell her."],
  ]

  for (const [unsent, typedSince, shown] of cases) assert.equal(putBackText(unsent, typedSince), shown)
})
