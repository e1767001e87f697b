import assert from "node:assert/strict"
import { test } from "node:test"
import { checkTime } from "./check-time.mjs"

test("code that runs in simulations asks its clock alone, and its tests and other code may ask the computer", () => {
  const text = "const at = clock.now()\nsetTimeout(work, 5)\nconst then = performance.now()\nsql`select now()`\n"

  const problems = [
    "planner/plan.ts",
    "planner/plan.test.ts",
    "planner/testing/x.ts",
    "http/app.ts",
    "routing/routing.ts",
  ].flatMap((path) => checkTime([{ path: `control/src/${path}`, text }]))

  assert.deepEqual(
    problems.map(({ path, line, message }) => [path, line, message.split(" ")[0]]),
    [
      ["control/src/planner/plan.ts", 2, "setTimeout"],
      ["control/src/planner/plan.ts", 3, "performance.now"],
      ["control/src/planner/plan.ts", 4, "now()"],
      ["control/src/routing/routing.ts", 2, "setTimeout"],
      ["control/src/routing/routing.ts", 3, "performance.now"],
      ["control/src/routing/routing.ts", 4, "now()"],
    ],
  )
})

test("pages of the console show times in one format, and format numbers as they like", () => {
  const text =
    'new Date(at).toLocaleTimeString()\ncount.toLocaleString("en")\nIntl.DateTimeFormat().resolvedOptions()\n'

  const problems = ["runs/run-list.tsx", "frame/time-text.ts", "frame/time.test.ts"].flatMap((path) =>
    checkTime([{ path: `console/src/${path}`, text }]),
  )

  const places = problems.map(({ path, line }) => [path, line])
  assert.deepEqual(places, [["console/src/runs/run-list.tsx", 1]])
})
