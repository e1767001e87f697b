/** A graph that kills its worker each time it is tried, among runs of all kinds on two servers. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { skip } from "@superstep/toolkit/testing/processes"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import { ConversationClient } from "./client.js"
import { conversationOf, type Durability } from "./conversation.js"
import { factsOf, readEffects } from "./facts.js"
import { startInstallation } from "./installation.js"
import { chaosLanguages } from "./languages.js"
import { judge } from "./verdict.js"

for (const { name, env, skip: withoutLanguage } of chaosLanguages) {
  test(`a graph in ${name} that kills its worker each time ends in a typed error, and its neighbours succeed`, {
    skip: skip || withoutLanguage,
  }, async () => {
    await using installation = await startInstallation({ env })
    const { servers, db, effectsFile } = installation
    const modes: readonly Durability[] = ["sync", "async", "exit"]
    const neighbours = [...modes, ...modes].map((durability, n) =>
      conversationOf({ name: `neighbour ${n}`, durability, steps: 30, turns: 1 + (n % 2) }),
    )
    const random = seededRandom(1)
    const clients = neighbours.map((one) => new ConversationClient(one, servers, random))
    const deadly = new ConversationClient(conversationOf({ name: "deadly", graph: "deadly" }), servers, random)

    const begun = await Promise.all([...clients, deadly].map((client) => client.begin()))
    await Promise.all(begun.map(({ ended }) => ended))
    const facts = (client: ConversationClient) => factsOf(db, readEffects(effectsFile), client.threadId)
    // A turn without a client may still wait for its place.
    for (const client of clients) {
      const isOver = async () => (await facts(client)).runs.every(({ status }) => !/pending|running/.test(status))
      await until(isOver, { what: "the neighbours are over", timeoutMs: 60_000 })
    }

    for (const client of clients) assert.deepEqual(judge(client.conversation, await facts(client), client), [])
    const { status, runs, executions } = await facts(deadly)
    const [run] = runs
    assert.ok(run)
    assert.deepEqual([status, run.status], ["error", "error"])
    // Three of its own, and the first one when somebody was beside it in the worker.
    assert.ok(run.attempt === 3 || run.attempt === 4, `it had ${run.attempt} attempts`)
    assert.equal(JSON.parse(run.error ?? "{}").error, "WorkerLost")
    const attempts = Array.from({ length: run.attempt }, (_, n) => n + 1)
    assert.deepEqual(fieldsOf(executions, "attempt"), attempts)
    const stream = deadly.streams.get(run.runId) ?? []
    const told = stream.filter(({ event }) => event === "metadata").map(({ data }) => data.attempt)
    assert.deepEqual(told, attempts)
    const last = stream.slice(-2).map(({ event, data }) => `${event} ${data.error ?? data.status}`)
    assert.deepEqual(last, ["error WorkerLost", "end error"])
  })
}
