/** Events that are logged while a command reads (protocol-v2 §1.5): its client continues after the reply's place, and must not miss them. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { lastPlaceOfThread } from "../events/queries.js"
import { AfterStatement } from "../testing/after-statement.js"
import { freshHttp } from "../testing/test-http.js"
import { emitProtocol, everything, executing, startRun } from "./testing/protocol-client.js"
import { connect } from "./testing/socket-client.js"

// They read the events of a thread for the tree of a run, or count them.
const readsEvents = /with latest as materialized|as count from run_events/

test("the place of a reply covers no event that was logged after the reply's result was read", async () => {
  const between = new AfterStatement()
  await using http = await freshHttp({ graphs: ["agent"], wrapDb: between.database })
  const threadId = randomUUID()
  const client = await connect(http, threadId)
  const runId = await startRun(http, threadId)
  const run = await executing(runId, http)
  const place = () => lastPlaceOfThread(http.db, threadId)

  for (const [method, params] of [
    ["agent.getTree", { run_id: runId }],
    ["subscription.reconnect", { run_id: runId }],
    ["subscription.subscribe", everything],
  ] as const) {
    const before = await place()
    between.after(readsEvents, async () => {
      await emitProtocol(run, "custom", { payload: method })
      await until(async () => (await place()) > before, { what: "the event is logged" })
    })
    const reply = await client.command(method, params)

    assert.equal(reply.type, "success", reply.message)
    assert.ok(between.isDone, method)
    assert.equal(reply.meta.applied_through_seq, before, method)
  }
})
