import assert from "node:assert/strict"
import { test } from "node:test"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { startTestHttp } from "../testing/test-http.js"
import { migrations } from "../testing/test-server.js"
import { graphConfig } from "./graph-config.js"
import { findReadThread } from "./queries.js"

test("a thread's state is read with the config of its last run, whatever characters that contains", async () => {
  await using db = await freshDatabase({ migrations })
  await using http = await startTestHttp(db)
  const { json } = await http.send("POST", "/threads", {})
  const { thread_id: threadId } = json as { thread_id: string }
  const given = [
    { input: {}, config: { configurable: { model: "plain" } } },
    // Postgres rejects both when it reads JSON: an emoji that a client cut in half, and U+0000.
    { input: { text: "half \ud83d" }, config: { configurable: { model: "cut" } } },
    { input: {}, config: { configurable: { model: "nul\u0000" } } },
  ]

  const models: string[] = []
  for (const body of given) {
    const { json: run } = await http.send("POST", `/threads/${threadId}/runs`, { assistant_id: "agent", ...body })
    const { run_id } = run as { run_id: string }
    const started = await until(() => http.server.workers.running.get(run_id), { what: "the run starts" })
    started.done()
    await until(() => !http.server.workers.running.has(run_id), { what: "the run has ended" })
    const thread = await findReadThread(http.server.db, threadId)
    assert.ok(thread)
    models.push(JSON.parse(await graphConfig(http.server.db, thread, anyone, {})).configurable.model)
  }

  assert.deepEqual(models, ["plain", "cut", "nul\ufffd"])
})
