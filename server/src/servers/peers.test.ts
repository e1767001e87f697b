/** Which server is woken for a waiting run, and which is asked to stop one. Here servers do not poll: only messages start runs. */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { newRun } from "../runs/schema.js"
import { cancelRun, createRun, waitForEnd } from "../testing/as-anyone.js"
import { newThread } from "../testing/creations.js"
import { migrations, startTestServer, type TestServer, type TestServerOptions } from "../testing/test-server.js"
import { deleteThread } from "../threads/operations.js"
import { Peers } from "./peers.js"
import { channelOf } from "./server.js"

// Longer than any test: servers read the queue only at their start and after messages.
const never = 2 ** 31 - 1

const body = (fields: object = {}) => newRun.parse({ assistant_id: "agent", input: {}, ...fields })

/** Servers that know each other, in the order of their options. All are stopped when disposed. */
async function startServers<const All extends readonly TestServerOptions[]>(db: Database, all: All) {
  const servers: TestServer[] = []
  for (const options of all) servers.push(await startTestServer(db, { sweepMs: never, ...options }))
  // Each server writes its row, then each reads the rows of the others.
  for (const server of [...servers, ...servers]) await server.peers.look(server.leases)
  const stop = async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
  }
  return Object.assign(servers as { [N in keyof All]: TestServer }, { [Symbol.asyncDispose]: stop })
}

/** All messages to servers from now on: `recipient: message`. */
async function hearAll(db: Database, servers: readonly TestServer[]): Promise<string[]> {
  const heard: string[] = []
  for (const [n, { claimer }] of servers.entries())
    await db.listen(channelOf(claimer.serverId), (text) => heard.push(`${n}: ${text}`))
  return heard
}

/** Resolves when all earlier notifications have been received. */
async function untilHeard(db: Database, server: TestServer): Promise<void> {
  await server.hints.close()
  let isHeard = false
  const subscription = await db.listen("fence", () => {
    isHeard = true
  })
  await db.run(sql`select pg_notify('fence', '')`)
  await until(() => isHeard, { what: "the last notification is received" })
  await subscription.close()
}

const started = (server: TestServer, runId: string) =>
  until(() => server.workers.running.get(runId), { what: `run ${runId} to start` })

test("a single server wakes itself and sends no notification (M1)", async () => {
  await using db = await freshDatabase({ migrations })
  await using servers = await startServers(db, [{ slots: 1 }])
  const [only] = servers
  const heard = await hearAll(db, [only])
  const threadId = await newThread(only)

  const runs = [threadId, threadId, undefined].map((id) => createRun(only, { threadId: id, body: body() }))
  for (const run of await Promise.all(runs)) {
    const execution = await until(() => [...only.workers.running.values()][0], { what: "a run to start" })
    execution.done()
    assert.ok(run.run_id)
    await waitForEnd(only, execution.order.runId)
  }
  await untilHeard(db, only)

  assert.equal(only.workers.started.length, 3)
  assert.deepEqual(heard, [])
})

test("a run on a full server wakes one other server with a free slot (M1)", async () => {
  await using db = await freshDatabase({ migrations })
  await using servers = await startServers(db, [{ slots: 0 }, { slots: 0 }, {}, {}, {}])
  const [front] = servers
  const heard = await hearAll(db, servers)

  const { run_id: runId } = await createRun(front, { threadId: await newThread(front), body: body() })
  await until(() => servers.some(({ workers }) => workers.running.has(runId)), { what: "the run to start" })
  await untilHeard(db, front)

  assert.equal(heard.length, 1, JSON.stringify(heard))
  assert.match(heard[0] ?? "", /^[234]: look$/)
})

test("a run on a busy thread wakes no server; the end of the previous run does (M1)", async () => {
  await using db = await freshDatabase({ migrations })
  await using servers = await startServers(db, [{ slots: 0 }, {}])
  const [front, back] = servers
  const threadId = await newThread(front)
  const first = await createRun(front, { threadId, body: body() })
  const execution = await started(back, first.run_id)
  const heard = await hearAll(db, servers)

  const second = await createRun(front, { threadId, body: body() })
  await untilHeard(db, front)
  const heardBefore = [...heard]
  execution.done()
  await started(back, second.run_id)

  assert.deepEqual(heardBefore, [])
  assert.deepEqual(heard, [])
})

test("a server that has become full forwards the message, and its row says that it is full (M3)", async () => {
  await using db = await freshDatabase({ migrations })
  await using servers = await startServers(db, [{ slots: 0 }, { slots: 1 }, { slots: 1 }])
  const [front, one, other] = servers
  // Their rows show free slots until the next refresh.
  for (let n = 0; n < 2; n++) await createRun(front, { threadId: undefined, body: body() })

  await until(() => [one, other].every(({ workers }) => workers.running.size === 1), {
    what: "each server starts one run",
  })
  const third = await createRun(front, { threadId: undefined, body: body() })
  await until(
    async () => (await db.row<{ n: number }>(sql`select count(*) as n from servers where free_slots > 0`))?.n === 0,
    { what: "no row shows free slots" },
  )
  one.workers.started[0]?.done()

  await started(one, third.run_id)
})

test("a run that becomes ready while another message is sent gets its own message", async () => {
  await using db = await freshDatabase({ migrations })
  await using server = await startTestServer(db, { slots: 0, sweepMs: never })
  await db.run(sql`insert into servers (server_id, free_slots, free_solo_slots) values (${randomUUID()}, 1, 1)`)
  const said: string[] = []
  const send = (_channel: string, text = "") => {
    // Sending is the last step of the first message.
    if (said.push(text) === 1) queueMicrotask(() => peers.passOn({ runsAlone: true }))
  }
  const peers = new Peers({ db, log: server.log, hints: Object.assign(server.hints, { send }), self: server.claimer })
  await peers.look(db)

  peers.passOn({ runsAlone: false })

  await until(() => said.length === 2, { what: "both messages are sent" })
  assert.deepEqual(said, ["look", "look alone"])
  await peers.close()
})

test("another server takes the run of a stopping server at once", async () => {
  await using db = await freshDatabase({ migrations })
  await using servers = await startServers(db, [{}, {}])
  const [leaving, staying] = servers
  const { run_id: runId } = await createRun(leaving, { threadId: undefined, body: body() })
  await started(leaving, runId)

  await leaving.loop.stop()
  await leaving.peers.leave()
  await leaving.workers.stop()
  const execution = await started(staying, runId)

  assert.equal(execution.order.attempt, 2)
  await leaving.peers.close()
  assert.deepEqual(await db.rows(sql`select server_id from servers`), [{ server_id: staying.claimer.serverId }])
})

for (const how of ["cancelled", "replaced", "deleted"] as const) {
  test(`only the server that executes a run is notified when the run is ${how}`, async () => {
    await using db = await freshDatabase({ migrations })
    await using servers = await startServers(db, [{ slots: 0 }, {}, { slots: 0 }])
    const [front, back] = servers
    const threadId = await newThread(front)
    const { run_id: runId } = await createRun(front, { threadId, body: body() })
    const execution = await started(back, runId)
    const heard = await hearAll(db, servers)

    if (how === "cancelled") await cancelRun(front, { threadId, runId, action: "interrupt", wait: false })
    if (how === "replaced") await createRun(front, { threadId, body: body({ multitask_strategy: "interrupt" }) })
    if (how === "deleted") await deleteThread(front, anyone, threadId)
    await until(() => execution.isCancelled, { what: "its worker to be asked to stop" })
    await untilHeard(db, front)

    assert.deepEqual(heard, [`1: cancel ${runId}`])
  })
}

test("a message to a server that is gone loses no run: the others poll (M2)", async () => {
  await using db = await freshDatabase({ migrations })
  await using servers = await startServers(db, [{ slots: 0 }])
  const [front] = servers
  await db.run(sql`insert into servers (server_id, free_slots, free_solo_slots) values (${randomUUID()}, 10, 1)`)
  await front.peers.look(front.leases)
  await using back = await startTestServer(db)
  await db.run(sql`delete from servers where server_id = ${back.claimer.serverId}`)

  const { run_id: runId } = await createRun(front, { threadId: undefined, body: body() })

  await started(back, runId)
})

test("no transaction of the queue that writes data notifies", async () => {
  await using db = await freshDatabase({ migrations })

  const notifying = await db.rows<{ proname: string }>(
    sql`select proname from pg_proc where prosrc like '%pg_notify%' and pronamespace = 'public'::regnamespace order by proname`,
  )

  // For manual changes of an operator.
  assert.deepEqual(fieldsOf(notifying, "proname"), ["tell_webhook_due"])
})
