import assert from "node:assert/strict"
import test from "node:test"
import { createCounters } from "./counters.js"
import { pickUnit } from "./pick-unit.js"
import { indexTable, tableSchema, type Unit } from "./table.js"
import { route } from "./testing/harness.js"

const unit = (unit_id: string): Unit => ({ unit_id, socket_path: `/run/${unit_id}.sock`, token: "t" })

test("a table is found by name and knows its units", () => {
  const table = indexTable({ generation: 3, routes: [route("a", [unit("u1")]), route("b", [unit("u2")])] })

  assert.equal(table.generation, 3)
  assert.equal(table.find("b")?.units[0]?.unit_id, "u2")
  assert.equal(table.find("c"), undefined)
  assert.equal(table.find("constructor"), undefined)
  assert.deepEqual(
    table.units.map(({ unit_id }) => unit_id),
    ["u1", "u2"],
  )
})

test("a table with a name twice, a strange name or a broken key is refused with all its problems", () => {
  const parsed = tableSchema.safeParse({ generation: 1, routes: [route("a", []), route("a", [])] })
  const strange = tableSchema.safeParse({ generation: -1, routes: [route("a/b", [], { keys: ["x"] })] })

  assert.equal(parsed.success, false)
  assert.equal(strange.error?.issues.length, 3)
})

test("the unit with the fewest open exchanges is picked, a tie falls to chance", () => {
  const units = [unit("busy"), unit("idle-1"), unit("idle-2")]
  const open = (unitId: string) => (unitId === "busy" ? 1 : 0)

  assert.equal(pickUnit(units, open, () => 0)?.unit_id, "idle-1")
  assert.equal(pickUnit(units, open, () => 0.99)?.unit_id, "idle-2")
  assert.equal(
    pickUnit([], open, () => 0),
    undefined,
  )
})

test("an exchange is counted once from open to close, also on a unit that left", () => {
  const counters = createCounters()
  const request = counters.open("gone", "requests")
  counters.open("here", "websockets")

  request.becomeStream()
  request.becomeStream()

  const shown = Object.entries(counters.snapshot(["here", "idle"])).map(([id, { idle_ms: _, ...open }]) => [id, open])
  assert.deepEqual(Object.fromEntries(shown), {
    here: { requests: 0, streams: 0, websockets: 1 },
    idle: { requests: 0, streams: 0, websockets: 0 },
    gone: { requests: 0, streams: 1, websockets: 0 },
  })

  request.close()
  request.close()

  assert.equal(counters.openOn("gone"), 0)
  assert.deepEqual(Object.keys(counters.snapshot([])), ["here"])
})
