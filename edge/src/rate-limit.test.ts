import assert from "node:assert/strict"
import test from "node:test"
import { createRateLimit } from "./rate-limit.js"
import { edgeWithUnit, route, withKey } from "./testing/harness.js"

test("each deployment has its own bucket of one second, which refills with time", () => {
  let nowMs = 0
  const limit = createRateLimit(() => nowMs)
  const taken = (id: string, requests: number) =>
    Array.from({ length: requests }, () => limit.exceeds(id, 10)).filter((isTooMany) => !isTooMany).length

  assert.equal(taken("a", 15), 10)
  assert.equal(taken("b", 15), 10)
  nowMs += 500
  assert.equal(taken("a", 15), 5)
  nowMs += 3_600_000
  assert.equal(taken("a", 15), 10)
})

test("too many requests are refused with 429, health checks are not counted", async () => {
  await using setup = await edgeWithUnit((_, response) => {
    response.end("{}")
  })
  // So slow that the bucket does not refill within the test.
  const limited = route("chat", [setup.unit.unit], { max_requests_per_second: 0.001 })
  await setup.edge.take({ generation: 2, routes: [limited] })
  const ask = (path: string) => fetch(`${setup.chat}${path}`, { headers: withKey })

  const health = [await ask("/ok"), await ask("/ok")].map(({ status }) => status)
  const first = await ask("/threads")
  const second = await ask("/threads")

  assert.deepEqual(health, [200, 200])
  assert.equal(first.status, 200)
  assert.equal(second.status, 429)
  assert.equal(second.headers.get("retry-after"), "1")
  assert.equal(((await second.json()) as { code: string }).code, "rate_limited")
})
