/** `input.inject` (protocol-v2 §1.4). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { insertSystemAssistants } from "../assistants/queries.js"
import { freshHttp } from "../testing/test-http.js"
import { untilBlocked } from "../testing/until-blocked.js"
import { executing, framesOf, openEvents, sendCommand, startRun, untilTerminals } from "./testing/protocol-client.js"

const message = { role: "user", content: "and a tea", name: "ada" }

test("a message cannot be injected where nothing ran, into a subgraph, or in place of an answer", async () => {
  await using http = await freshHttp()
  await insertSystemAssistants(http.db, ["agent"], {})
  const { json } = await http.send("POST", "/threads", {})
  const empty = (json as { thread_id: string }).thread_id
  const waiting = randomUUID()
  const run = await executing(await startRun(http, waiting), http)
  const interrupts = JSON.stringify({ task: [{ id: "a".repeat(32), value: "one?" }] })
  run.done({ status: "interrupted", next: ["node"], values: "{}", interrupts })
  const stream = await openEvents(http, waiting, { channels: ["lifecycle"] })
  await untilTerminals(() => framesOf(stream), 1)
  const refusal = async (threadId: string, params: object) => {
    const { error, message: text } = await sendCommand(http, threadId, "input.inject", params)
    return [error, text]
  }

  assert.equal((await refusal(empty, { message }))[0], "no_such_run")
  assert.equal((await refusal(waiting, { namespace: ["sub:1"], message }))[0], "no_such_namespace")
  assert.equal((await refusal(waiting, { message: { ...message, role: "tool" } }))[0], "invalid_argument")
  assert.deepEqual(await refusal(waiting, { message }), [
    "invalid_argument",
    "The thread waits for an answer: use input.respond.",
  ])
  assert.equal(http.server.workers.started.length, 1)
})

test("a message is refused when the thread asks a question between the check and the new run", async () => {
  await using http = await freshHttp()
  await insertSystemAssistants(http.db, ["agent"], {})
  const threadId = randomUUID()
  const run = await executing(await startRun(http, threadId), http)
  run.done()
  const interrupts = JSON.stringify({ task: [{ id: "a".repeat(32), value: "one?" }] })
  await until(async () => (await http.send("GET", `/threads/${threadId}`)).text.includes('"idle"'), { what: "the end" })

  const { reply } = await http.db.transaction(async (tx) => {
    await tx.run(sql`select from threads where thread_id = ${threadId} for update`)
    const reply = sendCommand(http, threadId, "input.inject", { message })
    await untilBlocked(http.db)
    await tx.run(
      sql`update threads set status = 'interrupted', interrupts = ${interrupts} where thread_id = ${threadId}`,
    )
    return { reply }
  })

  assert.equal((await reply).message, "The thread waits for an answer: use input.respond.")
  assert.equal(http.server.workers.started.length, 1)
})
