import assert from "node:assert/strict"
import { test } from "node:test"
import { itemsFor, threadIdIn } from "./palette-items.js"
import { deploymentPlaces, platformPlaces } from "./places.js"

const id = "0195b1c2-0000-7000-8000-00000000000a"
const groups = [{ places: platformPlaces(true) }, { deployment: "chat", places: deploymentPlaces(id) }]
const deployments = [
  { id, name: "chat" },
  { id: "0195b1c2-0000-7000-8000-00000000000b", name: "help-desk" },
]
const textsFor = (typed: string) => itemsFor(typed, groups, deployments).map(({ text }) => text)

test("pages and deployments are found by their words in any order, those of the present deployment first", () => {
  assert.deepEqual(textsFor("settings"), ["Settings of chat", "Settings"])
  assert.deepEqual(textsFor("chat thr"), ["Threads of chat"])
  assert.deepEqual(textsFor("desk help"), ["help-desk"])
  assert.deepEqual(textsFor("nothing such"), [])
})

test("the list of keys is offered, for a person who has turned the keys without Ctrl off", () => {
  assert.deepEqual(textsFor("keyboard"), ["Keyboard"])
  assert.equal(textsFor("").at(-1), "Keyboard")
})

test("each place is offered once", () => {
  const addresses = itemsFor("", groups, deployments).map(({ to }) => to)
  assert.equal(new Set(addresses).size, addresses.length)
})

test("each page of the table has a key of its own", () => {
  const keys = groups.flatMap(({ places }) => places.map(({ key }) => key))
  assert.equal(new Set(keys).size, keys.length)
})

test("a thread is named by its id, or by its address", () => {
  assert.equal(threadIdIn(` ${id} `), id)
  assert.equal(threadIdIn(`http://127.0.0.1:8900/deployments/x/agent/threads/${id}?view=graph`), id)
  assert.equal(threadIdIn(`http://127.0.0.1:8900/deployments/${id}`), undefined)
  assert.equal(threadIdIn("0195b1c2"), undefined)
})
