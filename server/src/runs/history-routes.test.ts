/** What is kept of a run, read while the run is deleted. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { AfterStatement } from "../testing/after-statement.js"
import { freshHttp } from "../testing/test-http.js"
import { addRun, newThread } from "../testing/thread-streams.js"

test("the events, the attempts and the trace of a run that is deleted while they are read are 404", async () => {
  const between = new AfterStatement()
  await using http = await freshHttp({ graphs: ["agent"], slots: 0, wrapDb: between.database })
  const threadId = await newThread(http)

  for (const part of ["events", "attempts", "trace"]) {
    const path = `/threads/${threadId}/runs/${await addRun(http, threadId)}/${part}`
    const { status: before } = await http.send("GET", path)
    between.after(/select run_id, thread_id, assistant_id, status, attempt, metadata/, () =>
      http.db.run(sql`delete from runs`),
    )
    const { status: meanwhile } = await http.send("GET", path)

    assert.deepEqual([before, meanwhile], [200, 404], part)
  }
})
