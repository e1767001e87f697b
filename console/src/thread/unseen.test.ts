import assert from "node:assert/strict"
import { test } from "node:test"
import { noActivity } from "./activity.js"
import { unseen } from "./unseen.js"

const hi = { type: "human", id: "m1", content: "hi" }
const yes = { type: "ai", id: "m2", content: "yes" }

test("an idle hook misses a run that executes, and messages of the newest checkpoint that it does not show", () => {
  const rest = { ...noActivity, status: "completed" as const, runId: "r1" }

  assert.equal(unseen({ ...rest, status: "running" }, [hi], { head: "c1", saved: [hi] }), "r1")
  assert.equal(unseen(rest, [hi], { head: "c2", saved: [hi, yes] }), "c2")
  assert.equal(unseen(rest, [hi, yes], { head: "c2", saved: [hi, yes] }), undefined)
  assert.equal(unseen(rest, [], { head: undefined, saved: undefined }), undefined)
})
