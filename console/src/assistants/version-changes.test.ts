import assert from "node:assert/strict"
import { test } from "node:test"
import { versionChanges } from "./version-changes.js"

test("two versions are compared field by field, down to the values that differ", () => {
  const before = {
    name: "a",
    graph_id: "g",
    context: { model: "m1", tone: { dry: true } },
    config: { tags: ["x", "y"] },
    description: null,
  }
  const after = {
    name: "a",
    graph_id: "g",
    context: { model: "m2", tone: { dry: true }, limit: 3 },
    config: { tags: ["x"] },
  }

  assert.deepEqual(versionChanges(before, after), [
    { path: "context.model", before: "m1", after: "m2" },
    { path: "context.limit", before: undefined, after: 3 },
    { path: "config.tags[1]", before: "y", after: undefined },
  ])
})

test("equal versions have no changes, whatever the order of their keys", () => {
  assert.deepEqual(
    versionChanges({ context: { a: 1, b: [{ c: 2, d: 3 }] } }, { context: { b: [{ d: 3, c: 2 }], a: 1 } }),
    [],
  )
})
