/** Postgres goes away for longer than a lease and comes back; nobody does anything about it. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { skip } from "@superstep/toolkit/testing/processes"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import { ConversationClient } from "./client.js"
import { bodyOf, conversationOf } from "./conversation.js"
import { factsOf, readEffects } from "./facts.js"
import { startInstallation } from "./installation.js"
import { untilExecuting } from "./moments.js"
import { judge } from "./verdict.js"

const leaseSeconds = 2

test("requests get 503 while Postgres is away, and every acknowledged run ends well when it is back", {
  skip,
}, async () => {
  await using installation = await startInstallation({ env: { SUPERSTEP_LEASE_SECONDS: `${leaseSeconds}` } })
  const { servers, postgres, db, effectsFile } = installation
  const conversations = [
    conversationOf({ name: "sync", steps: 20 }),
    conversationOf({ name: "async", steps: 20, durability: "async" }),
    conversationOf({ name: "exit", steps: 20, durability: "exit", isStreamed: false }),
    conversationOf({ name: "queued", steps: 5, turns: 2, isStreamed: false }),
    conversationOf({ name: "fan", graph: "fan", stepMs: 100 }),
  ]
  const clients = conversations.map((one) => new ConversationClient(one, servers, seededRandom(1)))
  const begun = await Promise.all(clients.map((client) => client.begin()))
  await untilExecuting(installation, ({ step }) => step === 3)

  await postgres.kill()
  const threadId = clients[0]?.threadId
  const replies: Response[] = []
  const endOfAbsence = Date.now() + 2 * leaseSeconds * 1000
  while (Date.now() < endOfAbsence) {
    for (const { url } of servers) {
      const body = JSON.stringify(bodyOf(conversationOf({ name: "refused" }), 0))
      const headers = { "content-type": "application/json" }
      replies.push(await fetch(`${url}/threads/${threadId}`))
      replies.push(await fetch(`${url}/threads/${threadId}/state`))
      replies.push(await fetch(`${url}/threads/${threadId}/runs`, { method: "POST", headers, body }))
      replies.push(await fetch(`${url}/threads/${threadId}/runs/stream`, { method: "POST", headers, body }))
      assert.equal((await fetch(`${url}/ok`)).status, 200)
    }
    await sleep(100)
  }
  await postgres.start()
  await Promise.all(begun.map(({ ended }) => ended))
  const threads = clients.map((client) => client.threadId)
  const facts = () => Promise.all(threads.map((id) => factsOf(db, readEffects(effectsFile), id)))
  const areOver = async () => (await facts()).every(({ runs }) => runs.every(({ status }) => status === "success"))
  await until(areOver, { what: "all runs have ended in success", timeoutMs: 60_000 })

  for (const reply of replies) {
    assert.equal(reply.status, 503, reply.url)
    assert.match(reply.headers.get("retry-after") ?? "", /^\d+$/, reply.url)
  }
  const after = await facts()
  for (const [index, client] of clients.entries()) {
    const fact = after[index]
    assert.ok(fact)
    assert.deepEqual(judge(client.conversation, fact, client), [])
  }
  assert.ok(
    servers.every(({ isRunning }) => isRunning),
    "a server ended",
  )
})
