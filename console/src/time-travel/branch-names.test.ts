import assert from "node:assert/strict"
import { test } from "node:test"
import { namesIn, namesOfLanes, withName } from "./branch-names.js"
import { treeOf } from "./checkpoint-tree.js"

test("names are read from metadata, whatever is there", () => {
  assert.deepEqual(namesIn({ branch_names: { c1: "before lunch", c2: 3 } }), { c1: "before lunch" })
  assert.deepEqual([namesIn({}), namesIn(null), namesIn({ branch_names: "x" })], [{}, {}, {}])
})

test("a name is set and removed", () => {
  assert.deepEqual(withName({ a: "one" }, "b", " two "), { a: "one", b: "two" })
  assert.deepEqual(withName({ a: "one", b: "two" }, "a", " "), { b: "two" })
})

test("a branch keeps its name while it grows, and the newest name counts", () => {
  const line = ["a", "b", "c", "d"].map((id, index, ids) => ({
    checkpoint: { checkpoint_id: id },
    parent_checkpoint: index === 0 ? null : { checkpoint_id: ids[index - 1] ?? "" },
    next: [],
    values: {},
  }))
  const other = { checkpoint: { checkpoint_id: "b2" }, parent_checkpoint: { checkpoint_id: "a" }, next: [], values: {} }
  const { items } = treeOf([...line, other])

  const names = namesOfLanes(items, { b: "first", c: "second", b2: "other" })
  assert.deepEqual(Object.fromEntries(names), { 0: "second", 1: "other" })
})
