import assert from "node:assert/strict"
import test from "node:test"
import { sizeProblems } from "./check.mjs"

test("more than the budget before the first screen is a problem that names the largest file", () => {
  const small = [{ name: "style.css", bytes: 3000 }]

  assert.deepEqual(sizeProblems(small), [])
  assert.match(
    sizeProblems([...small, { name: "main-1.js", bytes: 190_000 }])[0],
    /193 kB .* 160 kB.*main-1\.js with 190 kB/,
  )
})
