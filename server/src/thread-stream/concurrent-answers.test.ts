/** Several clients that answer or ask on one thread at the same moment (protocol-v2 §1.4); all pairs of requests: ../interleavings.test.ts. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp, startTestHttp } from "../testing/test-http.js"
import { untilBlocked } from "../testing/until-blocked.js"
import { untilAsked } from "./asking-run.js"
import {
  type CommandReply,
  commandOf,
  emitProtocol,
  executing,
  firstInterrupt as first,
  framesOf,
  interrupted,
  interrupts,
  openEvents,
  sendCommand,
  startRun,
} from "./testing/protocol-client.js"

/** Holds the thread's lock while the command waits for it, and changes the thread: as the answer of another client does that comes and ends meanwhile. */
async function overtaken(
  db: Database,
  threadId: string,
  command: () => Promise<CommandReply>,
  change = sql`status = 'idle', interrupts = '{}'`,
): Promise<CommandReply> {
  const { reply } = await db.transaction(async (tx) => {
    await tx.run(sql`select from threads where thread_id = ${threadId} for update`)
    const reply = command()
    await untilBlocked(db)
    await tx.run(sql`update threads set ${change} where thread_id = ${threadId}`)
    return { reply }
  })
  return reply
}

test("an answer, or a message, is refused when another client answers, or the thread asks, between the check and the new run", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const [threadId, asked] = [await interrupted(http), randomUUID()]
  ;(await executing(await startRun(http, asked), http)).done()
  await until(async () => (await http.send("GET", `/threads/${asked}`)).text.includes('"idle"'), { what: "the end" })
  const respond = () => sendCommand(http, threadId, "input.respond", { interrupt_id: first, response: 1 })
  const message = { role: "user", content: "and a tea", name: "ada" }
  const inject = () => sendCommand(http, asked, "input.inject", { message })

  const answer = await overtaken(http.db, threadId, respond)
  const injected = await overtaken(http.db, asked, inject, sql`status = 'interrupted', interrupts = ${interrupts}`)

  assert.deepEqual([answer.type, answer.error], ["error", "no_such_interrupt"])
  assert.equal(injected.message, "The thread waits for an answer: use input.respond.")
  assert.equal(http.server.workers.started.length, 2)
})

for (const [method, params] of [
  ["input.respond", { interrupt_id: first, response: 1 }],
  ["run.start", { assistant_id: "agent", input: { x: 1 } }],
] as const) {
  test(`a question can be answered while a run waits that is not due yet (${method})`, async () => {
    await using http = await freshHttp({ graphs: ["agent"] })
    const threadId = await interrupted(http)
    const delayed = { assistant_id: "agent", input: {}, after_seconds: 1000 }
    assert.equal((await http.send("POST", `/threads/${threadId}/runs`, delayed)).status, 200)
    const search = (status: string) => http.send("POST", "/threads/search", { status, select: ["thread_id", "status"] })
    const [asking, busy] = [await search("interrupted"), await search("busy")]

    const reply = await sendCommand(http, threadId, method, params)
    assert.equal(reply.type, "success", reply.message)
    const run = await until(() => http.server.workers.started[1], { what: "the answer executes" })
    const message = { role: "user", content: "and a tea" }
    const later = await sendCommand(http, threadId, "input.respond", { interrupt_id: first, response: 2 })
    const injected = await sendCommand(http, threadId, "input.inject", { message })

    const answer = method === "run.start" ? params.input : { [first]: 1 }
    assert.deepEqual([asking.json, busy.json], [[{ thread_id: threadId, status: "interrupted" }], []])
    assert.deepEqual(commandOf(run), { resume: answer })
    assert.equal(later.error, "no_such_interrupt")
    assert.equal(injected.type, "success")
  })
}

test("an input for a busy thread is the answer when its run asks between the check and the new run", async () => {
  await using http = await freshHttp()
  const threadId = await interrupted(http)
  const stored = sql`select interrupts from threads where thread_id = ${threadId}`
  const [asking] = await http.db.rows<{ interrupts: string }>(stored)
  await http.db.run(sql`update threads set status = 'busy', interrupts = '{}' where thread_id = ${threadId}`)

  const start = () => sendCommand(http, threadId, "run.start", { assistant_id: "agent", input: { x: 1 } })
  const asks = sql`status = 'interrupted', interrupts = ${asking?.interrupts ?? ""}`
  const reply = await overtaken(http.db, threadId, start, asks)
  const run = await executing(`${reply.result.run_id}`, http)

  assert.deepEqual(commandOf(run), { resume: { x: 1 } })
})

test("an answer does not wait for a run that is rolled back while the answer looks for it", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const rolledBackWhenFound: Database = {
    ...http.db,
    row: async <Row extends object>(statement: Sql): Promise<Row | undefined> => {
      const row = await http.db.row<Row>(statement)
      if (statement.render().text.includes("protocol:input.requested")) await http.db.run(sql`delete from runs`)
      return row
    },
  }
  await using other = await startTestHttp(http.db)
  const threadId = randomUUID()
  const stream = await openEvents(http, threadId)
  const asking = await executing(await startRun(http, threadId), http)
  await emitProtocol(asking, "input.requested", { interrupt_id: first, payload: "?", value: "?" }, ["node:1"])
  await until(() => framesOf(stream).find(({ method }) => method === "input.requested"), { what: "the question" })
  stream.leave()

  await untilAsked({ ...other.server, db: rolledBackWhenFound }, { threadId, interruptIds: [first] })

  assert.deepEqual(await http.db.rows(sql`select from runs`), [])
})
