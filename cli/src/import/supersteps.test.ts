import assert from "node:assert/strict"
import { test } from "node:test"
import type { State, Task } from "./states.js"
import { missingNames, type Replay, replay } from "./supersteps.js"

const state = (id: number, given: Partial<State>): State => ({
  id: String(id),
  parentId: id === 0 ? undefined : String(id - 1),
  source: "loop",
  graphId: "chat",
  values: {},
  next: [],
  tasks: [],
  ...given,
})
const task = (name: string, result?: Task["result"]): Task => ({ name, result, isSent: false })

const superstepsOf = (oldestFirst: readonly State[], given: Partial<Replay> = {}) =>
  replay({
    chain: oldestFirst.toReversed(),
    unknownLists: "new items",
    producerOf: () => undefined,
    goingNodes: new Set(),
    ...given,
  })?.supersteps.map(({ updates }) => updates)

test("an input and what nodes wrote become supersteps; new messages have the ids of the state", () => {
  const typed = { role: "user", content: "hi" }
  const [human, ai] = [
    { type: "human", content: "hi", id: "1" },
    { type: "ai", content: "ho", id: "2" },
  ]

  const found = superstepsOf([
    state(0, { source: "input", next: ["__start__"], tasks: [task("__start__", { messages: [typed] })] }),
    state(1, { next: ["a"], values: { messages: [human] }, tasks: [task("a", { messages: ai, n: 1 })] }),
    state(2, { values: { messages: [human, ai], n: 5 } }),
  ])

  assert.deepEqual(found, [
    [{ as_node: "__input__", values: { messages: [human] } }],
    [{ as_node: "__start__", values: { messages: [human] } }],
    // A number goes through the channel's reducer again: what was written counts, not what came of it.
    [{ as_node: "a", values: { messages: [ai], n: 1 } }],
  ])
})

test("parallel tasks share the new items in their order, one that is unknown gets the rest", () => {
  const found = superstepsOf(
    [
      state(0, { tasks: [task("a", { log: ["1"] }), task("b"), task("c", { log: ["4"] })] }),
      state(1, { values: { log: ["1", "2", "3", "4"], last: "b" } }),
    ],
    { producerOf: () => "start" },
  )

  assert.deepEqual(found?.[1], [
    { as_node: "a", values: { log: ["1"] } },
    { as_node: "b", values: { log: ["2", "3"], last: "b" } },
    { as_node: "c", values: { log: ["4"] } },
  ])
})

test("a list that was replaced is what was written; an unknown one is all of it", () => {
  const chain = (written?: Task["result"]) => [
    state(0, { values: { list: [1] }, tasks: [task("a", written)] }),
    state(1, { values: { list: [1, 2] } }),
  ]
  const updates = (written: Task["result"], unknownLists: Replay["unknownLists"]) =>
    superstepsOf(chain(written), { unknownLists, producerOf: () => "a" })?.[1]?.[0]?.values

  assert.deepEqual(updates({ list: [1, 2] }, "new items"), { list: [1, 2] })
  assert.deepEqual(updates(undefined, "new items"), { list: [2] })
  assert.deepEqual(updates(undefined, "all items"), { list: [1, 2] })
})

test("several writes of one task to a channel are its new items, else the last one counts", () => {
  const chain = (after: object) => [
    state(0, {
      values: { log: ["0"] },
      tasks: [task("a", { log: { $writes: [["1"], ["2"]] }, n: { $writes: [1, 2] } })],
    }),
    state(1, { values: { ...after, n: 2 } }),
  ]

  const found = superstepsOf(chain({ log: ["0", "1", "2"] }), { producerOf: () => "a" })

  assert.deepEqual(found?.[1], [{ as_node: "a", values: { log: ["1", "2"], n: 2 } }])
})

test("an update by hand is what changed, by the node that can have made it", () => {
  const found = superstepsOf(
    [
      state(0, { values: { log: ["1"], same: { a: 1 } }, tasks: [task("a")], next: ["a"] }),
      state(1, { source: "update", values: { log: ["1", "2"], same: { a: 1 } } }),
    ],
    { producerOf: ({ source }) => (source === "update" ? "b" : "a") },
  )

  assert.deepEqual(found?.[1], [{ as_node: "b", values: { log: ["2"] } }])
})

test("without a node for it, a state cannot be made", () => {
  assert.equal(superstepsOf([state(0, { values: { a: 1 } })]), undefined)
})

test("a node that says itself where to go is told so", () => {
  const chain = [state(0, { tasks: [task("route", { a: 1 })] }), state(1, { values: { a: 1 }, next: ["b"] })]

  const found = superstepsOf(chain, { producerOf: () => "route", goingNodes: new Set(["route"]) })

  assert.deepEqual(found?.[1], [{ as_node: "route", command: { update: { a: 1 }, goto: ["b"] } }])
})

test("names that are missing are counted, and one too many is another list", () => {
  assert.deepEqual(missingNames(["a", "a", "b"], ["a"]), ["a", "b"])
  assert.deepEqual(missingNames(["a"], ["a"]), [])
  assert.equal(missingNames(["a"], ["b"]), undefined)
})
