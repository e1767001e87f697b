import assert from "node:assert/strict"
import { test } from "node:test"
import type { HistoryItem } from "./checkpoint-tree.js"
import { withNewest } from "./newest.js"

const item = (id: string, values: unknown = {}): HistoryItem => ({
  checkpoint: { checkpoint_id: id },
  next: [],
  values,
})

test("new checkpoints come before the known ones, and one that is read again replaces what was known", () => {
  const read = item("c2", { read: "again" })

  assert.deepEqual(withNewest([item("c3"), read], [item("c2"), item("c1")]), [item("c3"), read, item("c1")])
})

test("checkpoints that do not meet the known ones leave a gap", () => {
  assert.equal(withNewest([item("c9"), item("c8")], [item("c2")]), undefined)
  assert.deepEqual(withNewest([item("c1")], []), [item("c1")])
})
