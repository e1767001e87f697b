/** A short walk of a machine through the console. `npm run walk` walks longer, by other seeds. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { noChromium } from "./console-page.js"
import { walkAPlatform } from "./walk/walk-a-platform.js"

const steps = 120

test("whatever is pressed, no error is uncaught, no refusal is hidden, and pages agree with the API", {
  skip: noChromium,
}, async (t) => {
  let left = steps
  const walked = await walkAPlatform({ seed: 1, wantsMore: () => left-- > 0, say: (line) => t.diagnostic(line) })

  t.diagnostic(JSON.stringify(walked.pressed))
  assert.deepEqual(walked.problems, [])
  // A walk that presses nothing finds nothing.
  const pressed = Object.values(walked.pressed).reduce((sum, count) => sum + count, 0)
  assert.ok(pressed > steps / 2, `only ${pressed} of ${steps} steps pressed something`)
})
