import assert from "node:assert/strict"
import { test } from "node:test"
import type { StateInfo } from "./run-data.js"
import { idOf, joinedStates, missingParents } from "./states.js"

const state = (id: string, parent?: string, source = "loop", values: unknown = {}): StateInfo => ({
  values,
  next: [],
  checkpoint: { checkpoint_id: id },
  parent_checkpoint: parent === undefined ? null : { checkpoint_id: parent },
  metadata: { source },
  created_at: null,
  tasks: [],
})

test("what is read again replaces what was known, and the order stays newest first", () => {
  const states = joinedStates(
    [state("c"), state("b", "a", "loop", "new")],
    [state("b", "a", "loop", "old"), state("a")],
  )

  assert.deepEqual(states.map(idOf), ["c", "b", "a"])
  assert.equal(states[1]?.values, "new")
})

test("of other states only those are read from which the run went on", () => {
  assert.deepEqual(missingParents([state("c", "b"), state("b", "a", "input")]), [])
  assert.deepEqual(missingParents([state("c", "b"), state("b", "a")]), ["a"])
  assert.deepEqual(missingParents([]), [])
})
