/** A watched status (status-stream.ts, SW1 to SW3). */
import assert from "node:assert/strict"
import { test } from "node:test"
import { isDeepStrictEqual } from "node:util"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { activateOn, canaryAt } from "../testing/revisions.js"
import { freshHttp, type OpenStream, type TestHttp } from "../testing/test-http.js"
import { Readiness } from "./readiness.js"

const token = { "x-superstep-unit": "sesame" }

interface Status {
  readonly ready: boolean
  readonly serving: boolean
  readonly running_runs: number
  readonly traffic: readonly { revision_id: string; weight: number | null }[]
}

const watch = ({ stream }: TestHttp, heartbeatMs = 60_000) =>
  stream("GET", `/internal/status?watch=${heartbeatMs}`, undefined, token)

const linesOf = ({ text }: OpenStream) => text().split("\n").slice(0, -1)
const statusesOf = (stream: OpenStream) =>
  linesOf(stream).flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Status]))

test("a watched status is sent at once, and again when the server is ready, activated, shares the threads or runs something (SW1)", async () => {
  const readiness = new Readiness()
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "base", readiness })
  const stream = await watch(http)
  const last = () => statusesOf(stream).at(-1)
  const isLast = (wanted: Partial<Status>) => () => isDeepStrictEqual({ ...last(), ...wanted }, last())

  await until(isLast({ ready: false, serving: false, traffic: [] }), { what: "the first status" })
  readiness.markReady()
  await until(isLast({ ready: true, serving: false }), { what: "it is ready" })
  await activateOn(http.server, canaryAt(10))
  const shares = [
    { revision_id: "base", weight: null },
    { revision_id: "canary", weight: 10 },
  ]
  await until(isLast({ serving: true, traffic: shares }), { what: "the traffic" })
  await activateOn(http.server)
  await until(isLast({ traffic: shares.slice(0, 1) }), { what: "the traffic without the canary" })
  await http.send("POST", "/runs", { assistant_id: "agent", input: {} }, token)
  await until(isLast({ running_runs: 1 }), { what: "the run" })
  const once = await http.send("GET", "/internal/status", undefined, token)
  stream.leave()
  await stream.ended

  assert.equal(stream.headers.get("content-type"), "application/x-ndjson")
  assert.equal((once.json as Status).running_runs, 1)
  assert.equal(((await http.send("GET", "/internal/status?watch=often", undefined, token)).json as Status).ready, true)
  http.server.workers.started[0]?.done()
})

test("a server without changes sends empty lines, and ends the stream when it stops (SW3)", async () => {
  const stopping = new AbortController()
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "base", stopping: stopping.signal })

  const stream = await watch(http, 100)
  await until(() => linesOf(stream).filter((line) => line === "").length > 2, { what: "heartbeats" })
  const before = linesOf(stream)
  stopping.abort()
  await stream.ended

  assert.equal((JSON.parse(before[0] ?? "") as Status).ready, true)
})

test("a server that cannot read its traffic ends the stream, and the next request gets the error (SW2, SW3)", async () => {
  await using http = await freshHttp({ unitToken: "sesame", revisionId: "base" })
  const stream = await watch(http)
  await until(() => statusesOf(stream).length === 1, { what: "the first status" })

  await http.db.run(sql`alter table serving_revisions rename to gone`)
  await http.db.run(sql`select pg_notify('serving_changed', '')`)
  await stream.ended
  const asked = await http.send("GET", "/internal/status?watch=1000", undefined, token)
  await http.db.run(sql`alter table gone rename to serving_revisions`)

  assert.equal(statusesOf(stream).length, 1)
  assert.equal(asked.status, 500)
})
