import assert from "node:assert/strict"
import { test } from "node:test"
import { runsNow } from "./metrics.js"

test("runs are those of the newest point that was measured", () => {
  const points = [
    { active_runs: 1, pending_runs: 7 },
    { active_runs: 2, pending_runs: 0 },
    { active_runs: null, pending_runs: null },
  ]

  assert.deepEqual(runsNow(points), { running: 2, waiting: 0 })
  assert.deepEqual(runsNow([]), { running: null, waiting: null })
})
