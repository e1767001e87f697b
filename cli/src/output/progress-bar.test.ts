import assert from "node:assert/strict"
import { test } from "node:test"
import { progressText } from "./progress-bar.js"

test("progress shows how much is done, of how much, and how long the rest takes", () => {
  const text = (done: number, total: number | undefined, seconds: number, note = "") =>
    progressText("threads", { done, total, note }, seconds * 1000)

  assert.equal(text(0, 100, 0), "[------------------------] 0 of 100 threads")
  assert.equal(text(50, 100, 10, "3 failed"), "[############------------] 50 of 100 threads, 10 s left, 3 failed")
  assert.equal(text(10, 10_000, 10), "[------------------------] 10 of 10000 threads, 2.8 h left")
  assert.equal(text(100, 100, 10), "[########################] 100 of 100 threads")
})

test("an unknown or outgrown total is not shown as one", () => {
  assert.equal(progressText("items", { done: 7, total: undefined, note: "" }, 5000), "7 items")
  assert.equal(progressText("threads", { done: 12, total: 10, note: "" }, 5000), `[${"#".repeat(24)}] 12 of 12 threads`)
})
