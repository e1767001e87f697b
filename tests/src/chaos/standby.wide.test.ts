/** An asynchronous standby is promoted that never got what the primary wrote in its last seconds. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { skip } from "@superstep/toolkit/testing/processes"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import { judgeLosses, tornCheckpoints } from "./after-loss.js"
import { ConversationClient } from "./client.js"
import { type Conversation, conversationOf } from "./conversation.js"
import { factsOf, readEffects, unfinished } from "./facts.js"
import { startInstallation } from "./installation.js"
import { untilExecuting } from "./moments.js"

const durabilities = ["sync", "async", "exit"] as const

test("what a promoted standby has lost is lost as a whole, and what it has goes on", { skip }, async (t) => {
  await using installation = await startInstallation({ hasStandby: true, env: { SUPERSTEP_LEASE_SECONDS: "6" } })
  const { servers, postgres, db, effectsFile } = installation
  const begin = async (fields: Partial<Conversation> & Pick<Conversation, "name">) => {
    const client = new ConversationClient(conversationOf(fields), servers, seededRandom(1))
    const { ended } = await client.begin()
    return { client, ended }
  }
  const kept = await Promise.all([
    ...durabilities.map((durability) => begin({ name: `long ${durability}`, steps: 120, durability })),
    // The first turn ends, and the second one is claimed, while the standby is behind.
    ...durabilities.map((durability) => begin({ name: `turns ${durability}`, steps: 60, turns: 2, durability })),
    begin({ name: "silent", steps: 120, isStreamed: false }),
  ])
  await untilExecuting(installation, ({ step }) => step === 8)

  postgres.fallBehind()
  const lost = await begin({ name: "lost", steps: 120 })
  const read = () => lost.client.streams.get(lost.client.acknowledged[0] ?? "") ?? []
  await until(() => read().length > 20, { what: "a client reads a run that will be lost" })
  const secondTurns = () =>
    kept.flatMap(({ client }) => (client.conversation.turns === 2 ? client.acknowledged.slice(1, 2) : []))
  const isExecuting = (runId: string) => readEffects(effectsFile).some(({ run_id }) => run_id === runId)
  // None of them may end: of a run that was claimed and ended in the lost seconds no server knows.
  await until(() => secondTurns().some(isExecuting), { what: "a second turn executes" })
  await postgres.failOver()
  const isOver = async () => (await unfinished(db)).length === 0
  await until(isOver, { what: "everything is over", timeoutMs: 120_000 })
  await Promise.all(kept.map(({ ended }) => ended))

  const faults = await tornCheckpoints(db)
  for (const { client } of kept) {
    const facts = await factsOf(db, readEffects(effectsFile), client.threadId)
    faults.push(...judgeLosses(client.conversation, facts, client.streams))
    t.diagnostic(`${client.conversation.name}: ${facts.runs.map(({ attempt }) => `attempt ${attempt}`).join(", ")}`)
  }
  assert.deepEqual(faults, [])
  const rows = await db.rows(sql`select from threads where thread_id = ${lost.client.threadId}`)
  assert.equal(rows.length, 0, "the standby had what it was never sent")
  const told = await lost.ended.then(
    () => JSON.stringify(read().at(-1)),
    (error: Error) => error.message,
  )
  assert.match(told, /"status":"rollback"|404/, "a client of the lost run is told that it is gone")
})
