import assert from "node:assert/strict"
import { test } from "node:test"
import { type HistoryItem, treeOf } from "../time-travel/checkpoint-tree.js"
import { nodesAt } from "./rest.js"

const checkpoint = (id: string, parent: string | undefined, run: string, tasks: HistoryItem["tasks"]): HistoryItem => ({
  checkpoint: { checkpoint_id: id },
  parent_checkpoint: parent === undefined ? null : { checkpoint_id: parent },
  next: [],
  values: {},
  metadata: { run_id: run },
  tasks: tasks ?? [],
})

test("a thread at rest shows the nodes of its last run, and where it waits in nested graphs", () => {
  const { items } = treeOf([
    checkpoint("a", undefined, "r1", [{ name: "old" }]),
    checkpoint("b", "a", "r2", [{ name: "__start__" }]),
    checkpoint("c", "b", "r2", [{ name: "agent" }]),
    checkpoint("d", "c", "r2", [{ name: "tools" }]),
    checkpoint("e", "d", "r2", [{ name: "agent" }]),
    checkpoint("f", "e", "r2", [{ name: "refund", interrupts: [{}] }]),
  ])
  const byId = new Map(items.map((item) => [item.id, item]))
  const [tip] = items
  assert.ok(tip)

  const nodes = nodesAt(byId, tip, [
    { name: "refund", interrupts: [{}], state: { tasks: [{ name: "ask", interrupts: [{}] }] } },
  ])

  assert.deepEqual(
    [...nodes].map(([id, { status, times }]) => [id, status, times]),
    [
      ["agent", "done", 2],
      ["tools", "done", 1],
      ["refund", "waiting", 1],
      ["refund:ask", "waiting", 1],
    ],
  )
})
