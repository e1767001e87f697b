import assert from "node:assert/strict"
import { test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { freshHttp } from "../testing/test-http.js"
import { addRun, executing, newThread } from "../testing/thread-streams.js"
import { graphConfig } from "./graph-config.js"
import { findReadThread } from "./queries.js"

test("a thread's state is read with the config of its last run, whatever characters that contains", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const given = [
    { input: {}, config: { configurable: { model: "plain" } } },
    // Postgres rejects both when it reads JSON: an emoji that a client cut in half, and U+0000.
    { input: { text: "half \ud83d" }, config: { configurable: { model: "cut" } } },
    { input: {}, config: { configurable: { model: "nul\u0000" } } },
  ]

  const models: string[] = []
  for (const body of given) {
    const runId = await addRun(http, threadId, body)
    ;(await executing(runId, http)).done()
    await until(() => !http.server.workers.running.has(runId), { what: "the run has ended" })
    const thread = await findReadThread(http.server.db, threadId)
    assert.ok(thread)
    models.push(JSON.parse(await graphConfig(http.server.db, thread, anyone, {})).configurable.model)
  }

  assert.deepEqual(models, ["plain", "cut", "nul\ufffd"])
})
