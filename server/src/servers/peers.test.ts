/** Which server is woken for a waiting run, and which is asked to stop one. Here servers do not poll: only messages start runs. */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { anyone } from "../auth/caller.js"
import { addRun, attemptOf, cancelRun, createRun, waitForEnd } from "../testing/as-anyone.js"
import { newThread } from "../testing/creations.js"
import { body } from "../testing/revisions.js"
import { serverDatabase, startTestServer, type TestServer, type TestServerOptions } from "../testing/test-server.js"
import { deleteThread } from "../threads/operations.js"
import { Peers } from "./peers.js"
import { channelOf } from "./server.js"

// Longer than any test: servers read the queue only at their start and after messages.
const never = 2 ** 31 - 1

/** Servers on one database that know each other, in the order of their options. All are stopped when disposed. */
async function startServers<const All extends readonly TestServerOptions[]>(all: All) {
  const db = await serverDatabase()
  const servers: TestServer[] = []
  for (const options of all) servers.push(await startTestServer(db, { sweepMs: never, ...options }))
  // Each server writes its row, then each reads the rows of the others.
  for (const server of [...servers, ...servers]) await server.peers.look(server.leases)
  const stop = async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
    await db.close()
  }
  return Object.assign(servers as { [N in keyof All]: TestServer }, { db, [Symbol.asyncDispose]: stop })
}

/** All messages to servers from now on: `recipient: message`. */
async function hearAll(servers: readonly TestServer[] & { readonly db: Database }): Promise<string[]> {
  const heard: string[] = []
  for (const [n, { claimer }] of servers.entries())
    await servers.db.listen(channelOf(claimer.serverId), (text) => heard.push(`${n}: ${text}`))
  return heard
}

/** Resolves when all earlier notifications have been received. */
async function untilHeard(server: TestServer): Promise<void> {
  const { db } = server
  await server.hints.close()
  let isHeard = false
  const subscription = await db.listen("fence", () => {
    isHeard = true
  })
  await db.run(sql`select pg_notify('fence', '')`)
  await until(() => isHeard, { what: "the last notification is received" })
  await subscription.close()
}

test("a single server wakes itself and sends no notification (M1)", async () => {
  await using servers = await startServers([{ slots: 1 }])
  const [only] = servers
  const heard = await hearAll(servers)
  const threadId = await newThread(only)

  const runs = [threadId, threadId, undefined].map((id) => createRun(only, { threadId: id, body: body() }))
  for (const run of await Promise.all(runs)) {
    const execution = await until(() => [...only.workers.running.values()][0], { what: "a run to start" })
    execution.done()
    assert.ok(run.run_id)
    await waitForEnd(only, execution.order.runId)
  }
  await untilHeard(only)

  assert.equal(only.workers.started.length, 3)
  assert.deepEqual(heard, [])
})

test("a run on a full server wakes one other server with a free slot (M1)", async () => {
  await using servers = await startServers([{ slots: 0 }, { slots: 0 }, {}, {}, {}])
  const [front] = servers
  const heard = await hearAll(servers)

  const { runId } = await addRun(front)
  await until(() => servers.some(({ workers }) => workers.running.has(runId)), { what: "the run to start" })
  await untilHeard(front)

  assert.equal(heard.length, 1, JSON.stringify(heard))
  assert.match(heard[0] ?? "", /^[234]: look$/)
})

test("a run on a busy thread wakes no server; the end of the previous run does (M1)", async () => {
  await using servers = await startServers([{ slots: 0 }, {}])
  const [front, back] = servers
  const first = await addRun(front)
  const execution = await attemptOf(back, first.runId)
  const heard = await hearAll(servers)

  const second = await addRun(front, { on: first.threadId })
  await untilHeard(front)
  const heardBefore = [...heard]
  execution.done()
  await attemptOf(back, second.runId)

  assert.deepEqual(heardBefore, [])
  assert.deepEqual(heard, [])
})

test("a server that has become full forwards the message, and its row says that it is full (M3)", async () => {
  await using servers = await startServers([{ slots: 0 }, { slots: 1 }, { slots: 1 }])
  const [front, one, other] = servers
  // Their rows show free slots until the next refresh.
  for (let n = 0; n < 2; n++) await addRun(front)

  const haveOneEach = () => [one, other].every(({ workers }) => workers.running.size === 1)
  await until(haveOneEach, { what: "each server starts one run" })
  const third = await addRun(front)
  const isFree = sql`select from servers where free_slots > 0`
  await until(async () => !(await servers.db.row(isFree)), { what: "no row shows free slots" })
  one.workers.started[0]?.done()

  await attemptOf(one, third.runId)
})

test("a run that becomes ready while another message is sent gets its own message", async () => {
  await using db = await serverDatabase()
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
  await using servers = await startServers([{}, {}])
  const [leaving, staying] = servers
  const { runId } = await addRun(leaving)
  await attemptOf(leaving, runId)

  await leaving.loop.stop()
  await leaving.peers.leave()
  await leaving.workers.stop()
  await attemptOf(staying, runId, 2)

  await leaving.peers.close()
  assert.deepEqual(await servers.db.rows(sql`select server_id from servers`), [{ server_id: staying.claimer.serverId }])
})

for (const how of ["cancelled", "replaced", "deleted"] as const) {
  test(`only the server that executes a run is notified when the run is ${how}`, async () => {
    await using servers = await startServers([{ slots: 0 }, {}, { slots: 0 }])
    const [front, back] = servers
    const { threadId, runId } = await addRun(front)
    const execution = await attemptOf(back, runId)
    const heard = await hearAll(servers)

    if (how === "cancelled") await cancelRun(front, { threadId, runId, action: "interrupt", wait: false })
    if (how === "replaced") await addRun(front, { on: threadId, multitask_strategy: "interrupt" })
    if (how === "deleted") await deleteThread(front, anyone, threadId)
    await until(() => execution.isCancelled, { what: "its worker to be asked to stop" })
    await untilHeard(front)

    assert.deepEqual(heard, [`1: cancel ${runId}`])
  })
}

test("no transaction of the queue that writes data notifies", async () => {
  await using db = await serverDatabase()

  const notifies = sql`prosrc like '%pg_notify%' and pronamespace = 'public'::regnamespace`
  const notifying = await db.rows<{ proname: string }>(
    sql`select proname from pg_proc where ${notifies} order by proname`,
  )

  // For manual changes of an operator.
  assert.deepEqual(fieldsOf(notifying, "proname"), ["tell_webhook_due"])
})
