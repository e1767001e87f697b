import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as uuidv7 } from "uuid"
import { anyone } from "../auth/caller.js"
import { Listening, migrations, startTestServer } from "../testing/test-server.js"
import { createRun } from "./creation.js"
import { joinRun, waitForEnd } from "./operations.js"
import { newRun } from "./schema.js"

test("clients of other servers get the end of a run whose server died before it announced the end (B3)", async () => {
  await using db = await freshDatabase({ migrations })
  await using owner = await startTestServer(db)
  await using other = await startTestServer(db, { slots: 0 })
  const threadId = uuidv7()
  const body = newRun.parse({ assistant_id: "agent", if_not_exists: "create" })
  const run = await createRun(owner, { caller: anyone, threadId, body })
  const client = new Listening()
  await joinRun(other, { caller: anyone, threadId, runId: run.run_id, subscriber: client, after: undefined })
  const waiting = waitForEnd(other, run.run_id)

  await owner.crash()
  // The effect of a Postgres session whose client died after sending the end.
  await db.run(sql`
    update runs set status = 'success', claim_id = null, claimed_by = null, lease_until = null
    where run_id = ${run.run_id}`)
  await until(() => client.hasEnded, { what: "the end of the stream" })
  await waiting

  assert.deepEqual(client.events.at(-1)?.data, { run_id: run.run_id, status: "success" })
  assert.deepEqual(fieldsOf(other.streams.runs.tailed(), "id"), [])
})
