import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import test from "node:test"
import { isAddress } from "@superstep/protocol/http/address"
import { openToAll, type PreflightRule } from "@superstep/toolkit/http/cross-origin"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { pickUnit } from "./pick-unit.js"
import { indexTable, readTable, type Unit } from "./table.js"
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

const problemOf = (change: object): string | undefined => {
  const read = readTable(structuredClone({ generation: 1, routes: [route("a", [unit("u")])], ...change }))
  return "problem" in read ? `${read.problem.path.join(".")} ${read.problem.message}` : undefined
}

test("a table that does not fit is refused with the path of its first problem, and unknown fields are dropped", () => {
  const withRoute = (change: object) => ({ routes: [route("a", []), { ...route("b", []), ...change }] })

  assert.equal(problemOf({}), undefined)
  assert.equal(problemOf({ routes: [route("a", []), route("a", [])] }), "routes.1 duplicate route a")
  assert.equal(problemOf({ generation: -1 }), "generation must be >= 0")
  assert.match(problemOf(withRoute({ name: "a/b" })) ?? "", /^routes\.1\.name must match pattern/)
  assert.match(problemOf(withRoute({ keys: ["x"] })) ?? "", /^routes\.1\.keys\.0 must match pattern/)
  assert.equal(problemOf(withRoute({ state: "open" })), "routes.1.state must be equal to one of the allowed values")
  assert.equal(problemOf(withRoute({ state: undefined })), "routes.1 must have required property 'state'")
  const standby = [{ ...unit("u"), token: "a\r\nb: c" }]
  assert.match(problemOf(withRoute({ standby })) ?? "", /^routes\.1\.standby\.0\.token must match pattern/)
  const units = Array.from({ length: 1001 }, (_, at) => unit(`u${at}`))
  assert.equal(problemOf(withRoute({ units })), "routes.1.units must NOT have more than 1000 items")
  const odd = readTable({ generation: 1, routes: [{ ...route("a", []), later: 1 }], later: 2 })
  assert.deepEqual(odd, { message: { generation: 1, routes: [route("a", [])] } })
})

test("the address of a unit is what processes of ours understand", () => {
  const addresses = ["unix:/run/u.sock", "http://10.0.0.7:80", "http://[fd00::7]:8000", "http://unit-1.ns.svc:8000"]
  const others = ["unix:run", "http://10.0.0.7", "https://a:1", "http://a b:1", "http://a:123456", "http://[::1:80", ""]

  for (const address of [...addresses, ...others]) {
    const problem = problemOf({ routes: [route("a", [{ ...unit("u"), address: address as Unit["address"] }])] })
    assert.equal(problem === undefined, isAddress(address), address)
  }
})

test("a rule for other origins may be as large as the table says", () => {
  const rules: PreflightRule[] = [
    openToAll,
    { ...openToAll, origins: [], max_age_seconds: 0, credentials: true },
    { ...openToAll, origins: Array(1000).fill("é".repeat(1000)), max_age_seconds: Number.MAX_SAFE_INTEGER },
    { ...openToAll, headers: Array(100).fill("x".repeat(255)), exposed: ["!#$%&'*+.^_`|~-"], origins: ["🧩", ""] },
  ]

  for (const rule of rules) assert.equal(problemOf({ routes: [route("a", [], { cors: rule })] }), undefined)
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

  const reversed = units.toReversed()

  for (const [at, threadId] of threads.entries()) assert.equal(ofThread(reversed, threadId), chosen[at])
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

  const chosenAt = (open: number) => ofThread(units, threadId, (unitId) => (unitId === home ? open : 2))
  assert.deepEqual([chosenAt(8), chosenAt(80)], [home, other])
})

test("the thread of a request is in its path", () => {
  const id = "0190A1B2-0000-7000-8000-000000000001"

  for (const rest of ["", "/runs/stream", "?a=1"]) assert.equal(threadOf(`/threads/${id}${rest}`), id.toLowerCase())
  for (const path of ["/threads", "/threads/search", `/threads/${id}x`, `/x/threads/${id}`, "/runs"])
    assert.equal(threadOf(path), undefined, path)
})
