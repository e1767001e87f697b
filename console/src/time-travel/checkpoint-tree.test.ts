import assert from "node:assert/strict"
import { test } from "node:test"
import { type HistoryItem, titleOf, treeOf, waitsFor } from "./checkpoint-tree.js"

const checkpoint = (id: string, parent?: string, more: Partial<HistoryItem> = {}): HistoryItem => ({
  checkpoint: { checkpoint_id: id },
  parent_checkpoint: parent === undefined ? null : { checkpoint_id: parent },
  next: [],
  values: {},
  metadata: { source: "loop" },
  ...more,
})
const rows = (history: HistoryItem[]) =>
  treeOf(history)
    .items.map(({ id, lane }) => `${id}${lane}`)
    .join(" ")

test("a thread without forks is one line, the newest first", () => {
  const history = [checkpoint("a"), checkpoint("b", "a"), checkpoint("c", "b")]
  const { head, lanes } = treeOf(history)

  assert.equal(rows(history), "c0 b0 a0")
  assert.deepEqual([head, lanes], ["c", 1])
})

test("the line of the present state is lane 0, and what was left has lanes of its own", () => {
  // a ─ b ─ c     c was left when the thread was forked at b; e is the present state
  //      └─ d ─ e
  const history = [
    checkpoint("a"),
    checkpoint("b", "a"),
    checkpoint("c", "b"),
    checkpoint("d", "b"),
    checkpoint("e", "d"),
  ]
  const { items, lanes } = treeOf(history)
  const of = (id: string) => items.find((item) => item.id === id)

  assert.equal(rows(history), "e0 d0 c1 b0 a0")
  assert.equal(lanes, 2)
  assert.deepEqual(of("b")?.forks, [1])
  assert.deepEqual([of("c")?.isTip, of("c")?.isFirst], [true, true])
  assert.deepEqual([of("e")?.isHead, of("e")?.isTip, of("b")?.isTip, of("a")?.isFirst], [true, true, false, true])
})

test("a branch passes the rows between its checkpoints and the one that it leaves", () => {
  // a ─ b ─ f      c hangs on a, and is shown between
  //  └─ c
  const { items } = treeOf([checkpoint("a"), checkpoint("c", "a"), checkpoint("b", "a"), checkpoint("f", "b")])

  const shown = items.map(({ id, lane, passing, forks }) => `${id}${lane} passing ${passing} forks ${forks}`)
  assert.deepEqual(shown, ["f0 passing  forks ", "c1 passing 0 forks ", "b0 passing 1 forks ", "a0 passing  forks 1"])
})

test("checkpoints whose parent is not known are roots", () => {
  assert.equal(rows([checkpoint("c", "gone"), checkpoint("b")]), "c0 b1")
  assert.deepEqual(treeOf([]), { items: [], lanes: 1, head: undefined })
})

test("a checkpoint has the name of the node that led to it, or of what made it", () => {
  const parent = checkpoint("a", undefined, { next: ["agent", "tools"] })

  assert.equal(titleOf(checkpoint("b", "a"), parent), "agent + tools")
  assert.equal(titleOf(checkpoint("a", undefined, { metadata: { source: "input", step: -1 } }), undefined), "input")
  assert.equal(titleOf(checkpoint("b", "a", { metadata: { source: "update" } }), parent), "edited")
  assert.equal(titleOf(checkpoint("b", "a"), checkpoint("a", undefined, { next: ["__start__"] })), "start")
})

test("a checkpoint waits for an answer, has an error, or goes on", () => {
  const waits = (more: Partial<HistoryItem>) => waitsFor(checkpoint("a", undefined, { next: ["ask"], ...more }))

  assert.equal(waits({ tasks: [{ name: "ask", interrupts: [{}] }] }), "answer")
  assert.equal(waits({ tasks: [{ name: "ask", error: "no" }] }), "error")
  assert.equal(waits({}), "next")
  assert.equal(waitsFor(checkpoint("a")), undefined)
})
