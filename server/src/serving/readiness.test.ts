import assert from "node:assert/strict"
import { test } from "node:test"
import { NotReady, Unavailable } from "@superstep/toolkit/errors/errors"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp } from "../testing/test-http.js"
import { Readiness } from "./readiness.js"

const stays = new AbortController().signal

test("a request that arrives while graphs load gets its reply when they are loaded; /ok is 503 until then, and with live=1 200", async () => {
  const readiness = new Readiness()
  await using http = await freshHttp({ readiness })
  const statusOf = async (path: string) => (await http.send("GET", path)).status

  const created = http.send("POST", "/threads", {})
  await until(() => readiness.held === 1, { what: "the request to wait" })
  const loading = [await statusOf("/ok"), await statusOf("/ok?check_db=1"), await statusOf("/ok?live=1")]
  readiness.markReady()
  const ready = [await statusOf("/ok"), await statusOf("/ok?check_db=1"), await statusOf("/ok?live=1")]

  assert.deepEqual([(await created).status, readiness.held], [200, 0])
  assert.deepEqual(loading, [503, 503, 200])
  assert.deepEqual(ready, [200, 200, 200])
})

test("the status of a unit that starts comes when it is ready, or after the time that the caller waits", async () => {
  const readiness = new Readiness()
  await using http = await freshHttp({ readiness, unitToken: "sesame" })
  const isReady = async (query: string) => {
    const { json } = await http.send("GET", `/internal/status${query}`, undefined, { "x-superstep-unit": "sesame" })
    return (json as { ready: boolean }).ready
  }

  const early = [await isReady(""), await isReady("?wait_ms=1"), await isReady("?wait_ms=soon")]
  const waiting = isReady("?wait_ms=60000")
  await until(() => readiness.held === 1, { what: "the request to wait" })
  readiness.markReady()

  assert.deepEqual(early, [false, false, false])
  assert.deepEqual([await waiting, await isReady("?wait_ms=60000"), readiness.held], [true, true, 0])
})

test("the waiting time and the number of waiting requests are limited", async () => {
  const short = new Readiness({ holdMs: 1 })
  const full = new Readiness({ maxHeld: 1 })
  const first = full.untilReady(stays)

  await assert.rejects(short.untilReady(stays), NotReady)
  await assert.rejects(full.untilReady(stays), Unavailable)

  assert.deepEqual([short.held, full.held], [0, 1])
  full.markReady()
  await first
})

test("a request whose client disconnects stops waiting", async () => {
  const readiness = new Readiness()
  await using http = await freshHttp({ readiness })
  const leaving = new AbortController()

  const asked = fetch(`${http.url}/threads`, { method: "POST", body: "{}", signal: leaving.signal })
  await until(() => readiness.held === 1, { what: "the request waits" })
  leaving.abort()

  await assert.rejects(asked, { name: "AbortError" })
  await until(() => readiness.held === 0, { what: "its slot to be free" })
  readiness.markReady()
})
