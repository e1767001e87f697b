/** A short walk of a machine through the console. `npm run walk` walks longer, by other seeds. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { noChromium } from "./console-page.js"
import { walkAPlatform } from "./walk/walk-a-platform.js"

const steps = 120

test("whatever is pressed, no error is uncaught, no refusal is hidden, and pages agree with the API", {
  skip: noChromium,
}, async (t) => {
  const { pressed, problems } = await walkAPlatform({ seed: 1, minutes: undefined, steps, say: () => undefined })

  t.diagnostic(JSON.stringify(pressed))
  assert.deepEqual(problems, [])
  // A walk that presses nothing finds nothing.
  const { phone = 0, compared = 0, ...done } = pressed
  const acts = Object.values(done).reduce((sum, count) => sum + count, 0)
  assert.ok(acts > steps / 2, `only ${acts} of ${steps} steps did something`)
  assert.ok(compared > steps / 6, `pages were compared with the API only ${compared} times`)
  assert.ok(phone > 0, "no page was as narrow as a phone")
})
