import assert from "node:assert/strict"
import { test } from "node:test"
import type { PlacedRow } from "./route.js"
import { routeOf } from "./route.js"

const unit = (unit_id: string) => ({ unit_id, address: `unix:/${unit_id}` as const, token: "t" })
const row: PlacedRow = {
  name: "chat",
  deployment_id: "d",
  revision_id: "r",
  workspace_id: "w1",
  unit_id: "u",
  role: "serving",
  token_sealed: "x",
  is_ready: true,
  is_paused: false,
  is_refused: false,
  deployment_type: "dev",
  cross_origin: null,
  unit: unit("u"),
}
const parts = {
  keys: { run: ["a"], read: ["c"] },
  members: { approve: ["m"], run: ["n"], read: ["o"] },
  tokenKey: "k",
  hostNames: [],
  requestsPerSecond: 0,
}

test("a route has the keys of its workspace, the units that are ready, and those that stand by", () => {
  const former: PlacedRow = { ...row, unit_id: "old", revision_id: "r0", role: "standby", unit: unit("old") }
  const sealedBefore: PlacedRow = { ...row, unit_id: "u2", unit: undefined }

  assert.deepEqual(routeOf({ ...parts, rows: [row, sealedBefore, former] }), {
    name: "chat",
    deployment_id: "d",
    revision_id: "r",
    keys: ["a", "m"],
    read_keys: ["c", "o"],
    no_approval_keys: ["n"],
    token_key: "k",
    units: [unit("u")],
    state: "serving",
    standby: [unit("old")],
  })
  assert.equal(routeOf({ ...parts, rows: [former] }), undefined, "nothing serves")
})

test("the state of a route says what becomes of requests", () => {
  const asleep: PlacedRow = { ...row, is_ready: false }
  const stateOf = (...rows: PlacedRow[]) => {
    const route = routeOf({ ...parts, rows })
    return [route?.state, route?.units.length]
  }

  assert.deepEqual(stateOf(row, { ...asleep, unit_id: "u2" }), ["serving", 1])
  assert.deepEqual(stateOf(asleep), ["held", 0])
  assert.deepEqual(stateOf({ ...asleep, is_refused: true }), ["full", 0])
  assert.deepEqual(stateOf({ ...asleep, is_paused: true, is_refused: true }), ["paused", 0])
})

test("a route has a limit in production only, the unit's rule for other origins, and its host names", () => {
  const limitOf = (deployment_type: string, requestsPerSecond: number) =>
    routeOf({ ...parts, requestsPerSecond, rows: [{ ...row, deployment_type }] })?.max_requests_per_second
  const cors = { origins: null, methods: ["GET"], headers: [], exposed: [], credentials: false, max_age_seconds: null }
  const hostNames = [
    { host_name: "a.example", certificate_sha256: "s" },
    { host_name: "b.example", certificate_sha256: null },
  ]
  const route = routeOf({ ...parts, hostNames, rows: [{ ...row, cross_origin: cors }] })

  assert.deepEqual([limitOf("prod", 500), limitOf("dev", 500), limitOf("prod", 0)], [500, undefined, undefined])
  assert.deepEqual(route?.cors, cors)
  assert.deepEqual(route?.host_names, [{ name: "a.example", certificate: "s" }, { name: "b.example" }])
})
