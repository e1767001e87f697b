/** What the reference server gets wrong and no other test shows (README.md, "Faults of the reference server"). */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp } from "../testing/test-http.js"
import { emitProtocol, executing, framesOf, openEvents, startRun, untilTerminals } from "./testing/protocol-client.js"

test("a thread runs several assistants, one after the other", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const { json } = await http.send("POST", "/assistants", { graph_id: "agent", name: "another" })
  const another = (json as { assistant_id: string }).assistant_id
  const threadId = randomUUID()

  ;(await executing(await startRun(http, threadId), http)).done()
  ;(await executing(await startRun(http, threadId, { assistant_id: another }), http)).done()
  const stream = await openEvents(http, threadId, { channels: ["lifecycle"] })
  await untilTerminals(() => framesOf(stream), 2)

  const events = framesOf(stream).map(({ params }) => params.data.event)
  assert.deepEqual(events, ["running", "completed", "running", "completed"])
})

test("the terminal event is in the log as soon as the run is over", async () => {
  await using http = await freshHttp()
  const threadId = randomUUID()
  const runId = await startRun(http, threadId)
  const run = await executing(runId, http)
  emitProtocol(run, "values", { x: 1 })
  // One statement sees one moment: both are there, or none.
  const seen = () =>
    http.db.row<{ status: string; isTold: boolean }>(sql`
      select status, exists (
        select from run_events e where e.run_id = r.run_id and event = 'protocol:lifecycle' and data like '%completed%'
      ) as "isTold"
      from runs r where run_id = ${runId}`)

  run.done()
  const isOver = async () => {
    const row = await seen()
    return row?.status === "success" || row?.isTold ? row : undefined
  }
  const over = await until(isOver, { what: "the run is over" })

  assert.deepEqual(over, { status: "success", isTold: true })
})

test("a stream that is opened while a run starts delays neither", async () => {
  await using http = await freshHttp()
  const threads = Array.from({ length: 30 }, () => randomUUID())
  for (const thread_id of threads) await http.send("POST", "/threads", { thread_id })

  const command = { id: 1, method: "run.start", params: { assistant_id: "agent", input: {} } }
  const both = threads.map((threadId) =>
    Promise.all([openEvents(http, threadId), http.send("POST", `/threads/${threadId}/commands`, command)]),
  )

  for (const replies of await Promise.all(both)) assert.deepEqual(fieldsOf(replies, "status"), [200, 200])
})
