/** A server that slept longer than its lease, as a suspended machine does: others have its runs when it wakes. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { send, skip } from "@superstep/toolkit/testing/processes"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import { ConversationClient } from "./client.js"
import { conversationOf } from "./conversation.js"
import { factsOf, logOf, readEffects } from "./facts.js"
import { type Installation, startInstallation } from "./installation.js"
import { untilExecuting } from "./moments.js"
import { judge } from "./verdict.js"

/** All rows that a worker can cause, as text: whatever changes shows. */
async function everything({ db }: Installation): Promise<Record<string, string>> {
  const tables = ["runs", "threads", "checkpoints", "checkpoint_blobs", "checkpoint_writes", "store", "run_events"]
  const entries = tables.map(async (table) => {
    const query = sql`select query_to_xml(${`select * from ${table} t order by t::text`}, true, false, '')::text as rows`
    return [table, (await db.row<{ rows: string }>(query))?.rows ?? ""] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

test("a server and its workers that wake after their lease has ended change nothing", { skip }, async () => {
  await using installation = await startInstallation({ env: { SUPERSTEP_LEASE_SECONDS: "2" } })
  const [sleeper, other] = installation.servers
  assert.ok(sleeper && other)
  const conversation = conversationOf({ name: "paused", steps: 40, notes: true })
  // It begins on the one that will sleep, and goes on with the one that does not.
  let isAsleep = false
  const client = new ConversationClient(conversation, installation.servers, seededRandom(1), () =>
    isAsleep ? other.url : sleeper.url,
  )
  const { ended } = await client.begin()
  const [runId] = client.acknowledged
  await untilExecuting(installation, (one) => one.run_id === runId && one.step === 4)

  const paused = [sleeper.pid ?? 0, ...sleeper.workerPids()]
  for (const pid of paused) send(pid, "SIGSTOP")
  isAsleep = true
  client.disconnect()
  await ended
  // What its client has got may not be in the log yet.
  const isLogged = async () => (await logOf(installation.db, runId ?? "")).at(-1)?.event === "end"
  await until(isLogged, { what: "the end is in the log" })
  const before = await everything(installation)
  for (const pid of paused) send(pid, "SIGCONT")
  // A renewal tells it, or the refusal of what its worker writes, whichever comes first.
  const knows = () => sleeper.said("a run has moved on to another attempt") || sleeper.said("a run was lost")
  await until(knows, { what: "the server knows that it slept" })
  // When it has stopped, its workers are gone and whatever they wrote is written.
  assert.equal(await sleeper.stop(), 0)
  const after = await everything(installation)

  const facts = await factsOf(installation.db, readEffects(installation.effectsFile), client.threadId)
  assert.deepEqual(judge(conversation, facts, client), [])
  assert.equal(facts.runs[0]?.attempt, 2)
  for (const [table, rows] of Object.entries(before)) assert.equal(after[table], rows, `${table} has changed`)
})
