import assert from "node:assert/strict"
import { test } from "node:test"
import { type HistoryItem, treeOf } from "../time-travel/checkpoint-tree.js"
import { lineOf, turnsOf, withoutOthers } from "./branches.js"

interface Written {
  readonly id: string
  readonly parent?: string
  readonly source?: string
  readonly said?: readonly string[]
}

const checkpoint = ({ id, parent, source = "loop", said = [] }: Written): HistoryItem => ({
  checkpoint: { checkpoint_id: id },
  parent_checkpoint: parent === undefined ? null : { checkpoint_id: parent },
  next: [],
  metadata: { source },
  values: {
    messages: said.map((id) => ({ id, type: id.startsWith("h") ? "human" : "ai", content: id })),
  },
})

const readOf = (written: readonly Written[]) => {
  const { items } = treeOf(written.map(checkpoint))
  return { items: new Map(items.map((item) => [item.id, item])), head: items[0] }
}

const first: Written[] = [
  { id: "1", source: "input" },
  { id: "2", parent: "1", said: ["h1"] },
  { id: "3", parent: "2", said: ["h1", "a1"] },
]
const second: Written[] = [
  { id: "4", parent: "3", source: "input", said: ["h1", "a1"] },
  { id: "5", parent: "4", said: ["h1", "a1", "h2"] },
  { id: "6", parent: "5", said: ["h1", "a1", "h2", "a2"] },
]

/** The first message, said in other words. */
const edited: Written[] = [
  { id: "4", parent: "1", source: "input" },
  { id: "5", parent: "4", said: ["h2"] },
]

test("another version of a message starts where its input was not yet written", () => {
  const { items, head } = readOf([...first, ...second])

  const turns = turnsOf(items, lineOf(items, head), "messages")

  assert.deepEqual(turns.get("h2"), { from: "3", versions: [{ tip: "6", isShown: true }] })
  assert.equal(turns.get("h1")?.from, "1")
  assert.equal(turns.get("a1"), undefined)
})

test("versions of a message lead to the newest checkpoints that came of them", () => {
  const again: Written[] = [
    { id: "7", parent: "3", source: "input", said: ["h1", "a1"] },
    { id: "8", parent: "7", said: ["h1", "a1", "h3"] },
    { id: "9", parent: "8", said: ["h1", "a1", "h3", "a3"] },
  ]
  const { items, head } = readOf([...first, ...second, ...again])

  assert.deepEqual(turnsOf(items, lineOf(items, head), "messages").get("h3")?.versions, [
    { tip: "6", isShown: false },
    { tip: "9", isShown: true },
  ])
  assert.deepEqual(turnsOf(items, lineOf(items, items.get("6")), "messages").get("h2")?.versions, [
    { tip: "6", isShown: true },
    { tip: "9", isShown: false },
  ])
})

test("the first message of a thread has versions too", () => {
  const { items, head } = readOf([...first, ...edited])

  const turn = turnsOf(items, lineOf(items, head), "messages").get("h2")

  assert.deepEqual(turn, {
    from: "1",
    versions: [
      { tip: "3", isShown: false },
      { tip: "5", isShown: true },
    ],
  })
})

test("messages from before the oldest checkpoint that was read have no turn", () => {
  const { items, head } = readOf([...first, ...second].slice(2))

  const turns = turnsOf(items, lineOf(items, head), "messages")

  assert.deepEqual([...turns.keys()], ["h2"])
})

test("messages of other branches are left out, and those of no checkpoint yet stay", () => {
  const { items, head } = readOf([...first, ...edited])
  const messages = ["h2", "h1", "a1", "a2"].map((id) => ({ id, type: "ai", content: id }))

  const idsAt = (tip: typeof head) => withoutOthers(messages, items, tip, "messages").map(({ id }) => id)

  assert.deepEqual(idsAt(head), ["h2", "a2"])
  assert.deepEqual(idsAt(items.get("3")), ["h1", "a1", "a2"])
})
