import assert from "node:assert/strict"
import { test } from "node:test"
import { type HistoryItem, treeOf } from "../time-travel/checkpoint-tree.js"
import { noActivity } from "./activity.js"
import { nodesAt, seenNodes, tipOf } from "./rest.js"

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

  const inner = [{ name: "refund", interrupts: [{}], state: { tasks: [{ name: "ask", interrupts: [{}] }] } }]
  const nodes = nodesAt(byId, tip, { inner })

  const shown = [...nodes].map(([id, { status, times }]) => `${id} ${status} ${times}`)
  assert.deepEqual(shown, ["agent done 2", "tools done 1", "refund waiting 1", "refund:ask waiting 1"])
})

const statuses = (tasks: HistoryItem["tasks"], more: Parameters<typeof nodesAt>[2]) => {
  const { items } = treeOf([
    checkpoint("a", undefined, "r1", [{ name: "agent" }]),
    checkpoint("b", "a", "r1", [{ name: "tools" }]),
    checkpoint("c", "b", "r1", tasks),
  ])
  const [tip] = items
  assert.ok(tip)
  const nodes = nodesAt(new Map(items.map((item) => [item.id, item])), tip, more)
  return [...nodes].map(([id, { status }]) => `${id} ${status}`).sort()
}

test("the node that failed is not shown as done, though it was done before and its task's end says nothing of an error", () => {
  const done = { status: "done", times: 1, tasks: new Set<string>() } as const
  const known = new Map([["agent", { ...done, times: 2 }]])
  const failed = [{ name: "agent", error: "no such order" }]

  assert.deepEqual(statuses(failed, { ending: "failed" }), ["agent failed", "tools done"])
  assert.deepEqual(statuses(failed, { known, ending: "failed" }), ["agent failed"])
  // Its worker died: the checkpoint has no error.
  assert.deepEqual(statuses([{ name: "agent" }], { ending: "failed" }), ["agent failed", "tools done"])
})

test("nodes that come next execute while their run does", () => {
  assert.deepEqual(statuses([{ name: "agent" }], { ending: "running" }), ["agent running", "tools done"])
  assert.deepEqual(statuses([{ name: "agent" }], {}), ["agent done", "tools done"])
})

test("a run whose nodes the stream has not told is shown by its own checkpoints", () => {
  const { items } = treeOf([checkpoint("a", undefined, "r1", [{ name: "agent" }])])
  const [present] = items
  const running = { ...noActivity, runId: "r1", status: "running" } as const
  const agent = { status: "running", times: 1, tasks: new Set<string>() } as const
  const told = { ...running, nodes: new Map([["agent", agent]]) }

  assert.equal(tipOf(running, present, "running"), present)
  assert.equal(tipOf({ ...running, runId: "r2" }, present, "running"), undefined, "the checkpoint is of an earlier run")
  assert.equal(tipOf(told, present, "running"), undefined, "the stream knows more")
  assert.equal(tipOf(noActivity, present, "running"), present)
  assert.equal(tipOf(told, present), present)
  assert.equal(seenNodes({ ...running, status: "completed" }), undefined)
  assert.equal(seenNodes(told), told.nodes)
})
