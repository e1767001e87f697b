/** The servers lose their way to Postgres for twice the usual lease. Postgres goes on, and nothing is restarted. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { skip } from "@superstep/toolkit/testing/processes"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { ConversationClient } from "./client.js"
import { conversationOf } from "./conversation.js"
import { factsOf, readEffects } from "./facts.js"
import { startInstallation } from "./installation.js"
import { untilExecuting } from "./moments.js"
import { judge } from "./verdict.js"

const leaseSeconds = 30

for (const how of ["reset", "silence"] as const) {
  test(`no node executes twice because of a minute without a way to Postgres (${how})`, {
    skip: skip || unlessLong("takes a minute and a half"),
  }, async () => {
    await using installation = await startInstallation({ isCuttable: true })
    const { servers, db, network, effectsFile } = installation
    const conversations = [
      conversationOf({ name: "sync", steps: 20 }),
      conversationOf({ name: "async", steps: 20, durability: "async" }),
      conversationOf({ name: "exit", steps: 20, durability: "exit" }),
      conversationOf({ name: "fan", graph: "fan", stepMs: 100 }),
    ]
    // Both servers have runs in flight.
    const clients = conversations.flatMap((one) =>
      servers.map(({ name, url }) => {
        const conversation = { ...one, name: `${one.name} at ${name}` }
        return new ConversationClient(conversation, servers, seededRandom(1), () => url)
      }),
    )
    const begun = await Promise.all(clients.map((client) => client.begin()))
    await untilExecuting(installation, ({ step }) => step === 3)

    network?.cut(how)
    const isLongOver = sql`
      select 1 where (select max(lease_until) from runs) < now() - make_interval(secs => ${leaseSeconds})`
    await until(() => db.row(isLongOver), { what: "all leases are long over", timeoutMs: 180_000 })
    network?.heal()
    await Promise.all(begun.map(({ ended }) => ended))

    for (const client of clients) {
      const facts = await factsOf(db, readEffects(effectsFile), client.threadId)
      assert.deepEqual(judge(client.conversation, facts, client), [])
      const nodes = facts.executions.map(({ node, step }) => `${node} of super-step ${step}`)
      assert.deepEqual(nodes.length, new Set(nodes).size, `a node executed twice: ${nodes}`)
      assert.deepEqual(
        facts.runs.map(({ attempt }) => attempt),
        [1],
      )
    }
  })
}
