import assert from "node:assert/strict"
import { test } from "node:test"
import { NotReady, Unavailable } from "@superstep/toolkit/errors/errors"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { startTestHttp } from "../testing/test-http.js"
import { migrations } from "../testing/test-server.js"
import { Readiness } from "./readiness.js"

const stays = new AbortController().signal

test("a request that arrives while graphs load is answered once they are loaded", async () => {
  await using db = await freshDatabase({ migrations })
  const readiness = new Readiness()
  await using http = await startTestHttp(db, { readiness })

  const created = http.send("POST", "/threads", {})
  await until(() => readiness.held === 1, { what: "the request waits" })
  readiness.markReady()

  assert.equal((await created).status, 200)
  assert.equal(readiness.held, 0)
})

test("/ok is 503 until runs can start, and tells before that whether the process lives", async () => {
  await using db = await freshDatabase({ migrations })
  const readiness = new Readiness()
  await using http = await startTestHttp(db, { readiness })
  const statusOf = async (path: string) => (await http.send("GET", path)).status

  const loading = [await statusOf("/ok"), await statusOf("/ok?check_db=1"), await statusOf("/ok?live=1")]
  readiness.markReady()
  const ready = [await statusOf("/ok"), await statusOf("/ok?check_db=1"), await statusOf("/ok?live=1")]

  assert.deepEqual(loading, [503, 503, 200])
  assert.deepEqual(ready, [200, 200, 200])
})

test("a request waits for a bounded time, and a bounded number of them wait", async () => {
  const short = new Readiness({ holdMs: 1 })
  const full = new Readiness({ maxHeld: 1 })
  const first = full.untilReady(stays)

  await assert.rejects(short.untilReady(stays), NotReady)
  await assert.rejects(full.untilReady(stays), Unavailable)

  assert.deepEqual([short.held, full.held], [0, 1])
  full.markReady()
  await first
})

test("a caller that leaves waits no more", async () => {
  await using db = await freshDatabase({ migrations })
  const readiness = new Readiness()
  await using http = await startTestHttp(db, { readiness })
  const leaving = new AbortController()

  const asked = fetch(`${http.url}/threads`, { method: "POST", body: "{}", signal: leaving.signal })
  await until(() => readiness.held === 1, { what: "the request waits" })
  leaving.abort()

  await assert.rejects(asked, { name: "AbortError" })
  await until(() => readiness.held === 0, { what: "its place is free" })
  readiness.markReady()
})
