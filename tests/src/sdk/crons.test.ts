/** A cron whose graph really runs. What the client may ask for: server/src/crons. Due times are moved, never waited for. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { startServerWithDatabase } from "../testing/agent-servers.js"

test("a cron of a thread goes on from its state, and knows when the thread is gone", async () => {
  await using server = await startServerWithDatabase()
  const { client, db } = server
  const { thread_id } = await client.threads.create()
  const input = { steps: 2, everyMs: 0 }
  const { cron_id } = await client.crons.createForThread(thread_id, "steps", { schedule: "0 0 1 1 *", input })
  // It also wakes the server, as servers do for each other when a cron changes.
  const makeDue = async () => {
    await db.run(sql`update crons set next_run_date = now() - interval '3 hours' where cron_id = ${cron_id}`)
    await db.run(sql`select pg_notify('crons_changed', '')`)
  }
  const untilFinished = (count: number) =>
    until(
      async () => {
        const rows = await db.rows<{ status: string }>(
          sql`select status from runs where metadata ->> 'cron_id' = ${cron_id}`,
        )
        return rows.length >= count && rows.every(({ status }) => status === "success")
      },
      { what: `${count} runs of the cron are over`, timeoutMs: 60_000 },
    )

  await makeDue()
  await untilFinished(1)
  await makeDue()
  await untilFinished(2)
  const { values } = await client.threads.getState<{ log: number[] }>(thread_id)
  await client.threads.delete(thread_id)
  await makeDue()
  const [gone] = await until(
    async () => {
      const crons = await client.crons.search({ threadId: thread_id, enabled: false })
      return crons.length === 1 && crons
    },
    { what: "the cron is disabled" },
  )

  assert.deepEqual(values.log, [0, 1, 2, 3])
  const { disabled_reason } = gone as unknown as { disabled_reason: string }
  assert.equal(disabled_reason, `the thread ${thread_id} does not exist any more`)
})
