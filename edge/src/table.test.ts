import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import test from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { createCounters } from "./counters.js"
import { pickUnit } from "./pick-unit.js"
import { indexTable, tableSchema, type Unit } from "./table.js"
import { threadOf } from "./target.js"
import { route } from "./testing/harness.js"

const unit = (unit_id: string): Unit => ({ unit_id, address: `unix:/run/${unit_id}.sock`, token: "t" })

test("a route is found by name, with its units", () => {
  const table = indexTable({ generation: 3, routes: [route("a", [unit("u1")]), route("b", [unit("u2")])] })

  assert.equal(table.generation, 3)
  assert.equal(table.find("b")?.units[0]?.unit_id, "u2")
  assert.equal(table.find("c"), undefined)
  assert.equal(table.find("constructor"), undefined)
  assert.deepEqual(fieldsOf(table.units, "unit_id"), ["u1", "u2"])
})

test("a table with a duplicate name, an invalid name or an invalid key is refused with all problems", () => {
  const parsed = tableSchema.safeParse({ generation: 1, routes: [route("a", []), route("a", [])] })
  const strange = tableSchema.safeParse({ generation: -1, routes: [route("a/b", [], { keys: ["x"] })] })

  assert.equal(parsed.success, false)
  assert.equal(strange.error?.issues.length, 3)
})

test("the unit with the fewest open exchanges is selected, ties at random", () => {
  const units = [unit("busy"), unit("idle-1"), unit("idle-2")]
  const open = (unitId: string) => (unitId === "busy" ? 1 : 0)

  const pick = (among: readonly Unit[], random: number) =>
    pickUnit(among, { openOn: open, random: () => random, threadId: undefined })?.unit_id

  assert.equal(pick(units, 0), "idle-1")
  assert.equal(pick(units, 0.99), "idle-2")
  assert.equal(pick([], 0), undefined)
})

const threads = Array.from({ length: 900 }, () => randomUUID())
const ofThread = (units: readonly Unit[], threadId: string, openOn: (unitId: string) => number = () => 0) =>
  pickUnit(units, { openOn, random: Math.random, threadId })?.unit_id

test("the requests of a thread meet one unit, and each unit gets its part of the threads", () => {
  const units = ["u1", "u2", "u3"].map(unit)
  const chosen = threads.map((threadId) => ofThread(units, threadId))

  assert.deepEqual(
    chosen,
    threads.map((threadId) => ofThread(units.toReversed(), threadId)),
  )
  for (const { unit_id } of units) {
    const part = chosen.filter((it) => it === unit_id).length
    assert.ok(part > 220 && part < 380, `${part} of 900`)
  }
})

test("when a unit leaves, only its own threads move", () => {
  const units = ["u1", "u2", "u3"].map(unit)
  const left = units.slice(1)

  for (const threadId of threads) {
    const before = ofThread(units, threadId)
    if (before !== "u1") assert.equal(ofThread(left, threadId), before)
  }
})

test("a thread's unit that has much more to do than the others does not get its request", () => {
  const units = ["u1", "u2"].map(unit)
  const [threadId = ""] = threads
  const home = ofThread(units, threadId)
  const other = units.find(({ unit_id }) => unit_id !== home)?.unit_id

  assert.equal(
    ofThread(units, threadId, (unitId) => (unitId === home ? 8 : 2)),
    home,
  )
  assert.equal(
    ofThread(units, threadId, (unitId) => (unitId === home ? 80 : 2)),
    other,
  )
})

test("the thread of a request is in its path", () => {
  const id = "0190A1B2-0000-7000-8000-000000000001"

  for (const rest of ["", "/runs/stream", "?a=1"]) assert.equal(threadOf(`/threads/${id}${rest}`), id.toLowerCase())
  for (const path of ["/threads", "/threads/search", `/threads/${id}x`, `/x/threads/${id}`, "/runs"])
    assert.equal(threadOf(path), undefined, path)
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

test("a unit in a table of an older release has the path of its socket", () => {
  const former = { unit_id: "u1", socket_path: "/run/u1.sock", token: "t" }
  const { routes } = tableSchema.parse({
    generation: 1,
    routes: [{ name: "a", deployment_id: "d", revision_id: "r", keys: [], units: [former] }],
  })

  assert.deepEqual(routes[0]?.units, [{ unit_id: "u1", address: "unix:/run/u1.sock", token: "t" }])
})
