/** Answers to callers without a key: preflights and health checks. They wake nothing, never wait, and keep nothing awake. */

import assert from "node:assert/strict"
import test from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { edgeStatus } from "./client.js"
import type { Route } from "./table.js"
import { edgeWithUnit, route, startControl, withKey } from "./testing/harness.js"

const page = "https://app.example"
const asked = {
  origin: page,
  "access-control-request-method": "POST",
  "access-control-request-headers": "content-type,x-api-key",
}
const rule: NonNullable<Route["cors"]> = {
  origins: [page],
  methods: ["GET", "POST"],
  headers: ["content-type", "x-api-key"],
  exposed: ["location"],
  credentials: true,
  max_age_seconds: 60,
}

/** An edge that records which deployments it wakes, and a unit that records its requests. */
async function setUp(change: Partial<Route>, env: Record<string, string> = {}) {
  const seen: string[] = []
  const setup = await edgeWithUnit((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    response.writeHead(204, { "access-control-allow-origin": "https://said-by.unit" }).end()
  }, env)
  const { calls, hear, close } = startControl(setup.edge.wakeAddress)
  await hear()
  const units = change.state === undefined ? [setup.unit.unit] : []
  await setup.edge.take({ generation: 2, routes: [route("chat", units, change)] })
  const preflight = (headers: Record<string, string> = asked, path = "/runs/stream") =>
    fetch(`${setup.chat}${path}`, { method: "OPTIONS", headers })
  const dispose = async () => {
    close()
    await setup[Symbol.asyncDispose]()
  }
  return { ...setup, seen, calls, preflight, [Symbol.asyncDispose]: dispose }
}

const reported = ({ status, headers }: Response) => ({
  status,
  origin: headers.get("access-control-allow-origin"),
  methods: headers.get("access-control-allow-methods"),
  headers: headers.get("access-control-allow-headers"),
  credentials: headers.get("access-control-allow-credentials"),
  maxAge: headers.get("access-control-max-age"),
})

for (const state of ["serving", "held", "paused", "full"] as const) {
  test(`the edge answers preflights by the deployment's rule while it is ${state}`, async () => {
    await using setup = await setUp({ cors: rule, ...(state !== "serving" && { state }) })

    const allowed = await setup.preflight()
    const stranger = await setup.preflight({ ...asked, origin: "https://evil.example" })
    const network = await setup.preflight({ ...asked, "access-control-request-private-network": "true" })

    assert.deepEqual(reported(allowed), {
      status: 204,
      origin: page,
      methods: "GET,POST",
      headers: "content-type,x-api-key",
      credentials: "true",
      maxAge: "60",
    })
    assert.equal(allowed.headers.get("x-revision-id"), "revision-1")
    assert.ok(allowed.headers.get("x-request-id"))
    assert.match(allowed.headers.get("vary") ?? "", /Origin/)
    assert.equal(reported(stranger).origin, null)
    assert.equal(network.headers.get("access-control-allow-private-network"), "true")
    assert.deepEqual([setup.seen, setup.calls], [[], []])
  })
}

test("without a rule the unit answers, which does not count as use; while it sleeps a preflight may pass", async () => {
  await using awake = await setUp({})
  await using asleep = await setUp({ state: "held" })
  await fetch(`${awake.chat}/threads`, { headers: withKey })
  const idleMs = (status: Awaited<ReturnType<typeof edgeStatus>>) => status.units[awake.unit.unit.unit_id]?.idle_ms ?? 0
  // Much longer than a preflight and a look take: one that counted as use would start again from zero.
  const before = await until(
    async () => {
      const status = await edgeStatus(awake.edge.admin)
      return idleMs(status) > 500 && status
    },
    { what: "the unit has been idle for a while" },
  )

  const byUnit = await awake.preflight()
  const byEdge = await asleep.preflight()
  const after = await edgeStatus(awake.edge.admin)

  assert.equal(reported(byUnit).origin, "https://said-by.unit")
  assert.ok(idleMs(after) >= idleMs(before), "it is as idle as before")
  assert.equal(after.deployments["deployment-of-chat"]?.requests, 1)
  const { status, origin, headers, credentials } = reported(byEdge)
  assert.deepEqual([status, origin, headers, credentials], [204, "*", "content-type,x-api-key", null])
  assert.deepEqual(asleep.calls, [])
})

test("preflights do not count for a deployment's rate limit", async () => {
  await using setup = await setUp({ max_requests_per_second: 1 })

  for (let n = 0; n < 5; n++) assert.equal((await setup.preflight()).status, 204)
  const request = await fetch(`${setup.chat}/threads`, { headers: withKey })

  assert.equal(request.status, 204)
})
