/** A run is planned from what its server knows, and never from what is out of date. */

import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { InvalidInput, NotFound } from "@superstep/toolkit/errors/errors"
import { anyone, type Caller } from "../auth/caller.js"
import { createRun } from "../testing/as-anyone.js"
import { callerWith } from "../testing/callers.js"
import { createAssistant, newThread } from "../testing/creations.js"
import { serverDatabase, startTestServer } from "../testing/test-server.js"
import { untilBlocked } from "../testing/until-blocked.js"
import * as creation from "./creation.js"
import { newRun } from "./schema.js"

/** A server with an assistant and a thread, from which it has created a run. */
async function experienced() {
  const db = await serverDatabase()
  const server = await startTestServer(db)
  const fields = { graph_id: "agent", context: { colour: "red" }, metadata: { team: "a" } }
  const { assistant_id: assistantId } = await createAssistant(server, fields)
  const threadId = await newThread(server, { metadata: { owner: "ann" } })
  const body = newRun.parse({ assistant_id: assistantId, input: {}, multitask_strategy: "enqueue" })
  const create = async () => JSON.parse((await createRun(server, { threadId, body })).kwargs)
  await create()
  const dispose = async () => {
    await server[Symbol.asyncDispose]()
    await db.close()
  }
  return { db, server, assistantId, threadId, body, create, [Symbol.asyncDispose]: dispose }
}

/** A database that calls `before` with the text of each statement. */
function observed(db: Database, before: (text: string) => Promise<unknown> | undefined): Database {
  const observing =
    <T>(run: (statement: Sql) => Promise<T>) =>
    async (statement: Sql) => {
      await before(statement.render().text)
      return run(statement)
    }
  return { ...db, rows: observing(db.rows), row: observing(db.row), run: observing(db.run) } as Database
}

const repaint = (db: Db, colour: string) =>
  db.run(sql`
    update assistants set context = ${JSON.stringify({ colour })}, version = version + 1, updated_at = clock_timestamp()
    where graph_id = 'agent' and metadata ->> 'team' = 'a'`)

test("a run of an assistant and a thread that its server knows is one statement", async () => {
  await using known = await experienced()
  const statements: string[] = []
  const counted = observed(known.server.db, async (text) => statements.push(text))

  await createRun({ ...known.server, db: counted }, known)

  assert.equal(statements.length, 1, statements.join("\n"))
})

test("a run gets what another server has changed, and not what its own server remembers", async () => {
  await using known = await experienced()
  const { db } = known

  await repaint(db, "blue")
  const ofAssistant = await known.create()
  await db.run(sql`update threads set metadata = '{"owner": "bob"}' where thread_id = ${known.threadId}`)
  const ofThread = await known.create()
  await db.run(sql`update threads set config = '{"configurable": {"size": 7}}' where thread_id = ${known.threadId}`)
  const ofConfig = await known.create()

  assert.equal(ofAssistant.context.colour, "blue")
  assert.equal(ofThread.config.metadata.owner, "bob")
  assert.equal(ofConfig.config.configurable.size, 7)
})

test("an assistant that is deleted, and one that takes its id, are noticed", async () => {
  await using known = await experienced()
  const { db, assistantId } = known
  const recreate = (colour: string) =>
    createAssistant(known.server, { assistant_id: assistantId, graph_id: "agent", context: { colour } })

  await db.run(sql`delete from assistants where assistant_id = ${assistantId}`)
  await assert.rejects(known.create(), NotFound)
  await recreate("old")
  const first = await known.create()
  await db.run(sql`delete from assistants where assistant_id = ${assistantId}`)
  await recreate("new")
  const second = await known.create()

  assert.deepEqual([first.context.colour, second.context.colour], ["old", "new"])
})

test("what a server remembers refuses no run that what is there now allows", async () => {
  await using known = await experienced()
  const { db, assistantId } = known
  const renameGraph = (graph: string) =>
    db.run(sql`update assistants set graph_id = ${graph}, version = version + 1 where assistant_id = ${assistantId}`)
  const huge = '{"count": 9007199254740993}'
  const report = { ...known.server.workers.report(), languages: new Map([["agent", "javascript" as const]]) }
  known.server.workers.report = () => report
  const create = () => createRun(known.server, known)

  await db.run(sql`update threads set metadata = ${huge} where thread_id = ${known.threadId}`)
  await assert.rejects(create(), InvalidInput)
  await db.run(sql`update threads set metadata = '{}' where thread_id = ${known.threadId}`)
  const afterThread = await create()
  await renameGraph("gone")
  await assert.rejects(create(), NotFound)
  await renameGraph("agent")
  const afterAssistant = await create()

  assert.ok(afterThread.run_id !== afterAssistant.run_id)
})

test("a caller whose access is filtered gets a run although its server remembers what was", async () => {
  await using known = await experienced()
  const { db } = known
  const ann: Caller = {
    ...anyone,
    authorize: async (event, value) => ({
      value: event === "threads:create_run" ? { ...value, metadata: { owner: "ann" } } : value,
      filter: event.startsWith("threads:") ? { owner: "ann" } : undefined,
    }),
  }
  const body = { ...known.body, if_not_exists: "create" } as const
  const asAnn = (threadId: string | undefined) => creation.createRun(known.server, { caller: ann, threadId, body })

  await repaint(db, "blue")
  const stateless = await asAnn(undefined)
  await repaint(db, "green")
  const onThread = await asAnn(known.threadId)
  await db.run(sql`delete from threads where thread_id = ${known.threadId}`)
  const onNewThread = await asAnn(known.threadId)

  const colours = [stateless, onThread, onNewThread].map(({ kwargs }) => JSON.parse(kwargs).context.colour)
  assert.deepEqual(colours, ["blue", "green", "green"])
})

test("a number that a thread's graph cannot hold is not told to a caller who may not see the thread", async () => {
  await using known = await experienced()
  const report = { ...known.server.workers.report(), languages: new Map([["agent", "javascript" as const]]) }
  known.server.workers.report = () => report
  const bob = callerWith({ owner: "bob" })
  const { db, threadId } = known
  const metadata = '{"owner": "ann", "account": 9007199254740993}'
  await db.run(sql`update threads set metadata = ${metadata} where thread_id = ${threadId}`)
  const body = { ...known.body, assistant_id: "agent" }

  const refusal = creation.createRun(known.server, { caller: bob, threadId, body })

  await assert.rejects(refusal, NotFound)
})

test("a thread that another transaction creates at the same moment gives its metadata to the run", async () => {
  await using known = await experienced()
  const { db } = known
  const threadId = randomUUID()
  const body = newRun.parse({ assistant_id: known.assistantId, input: {}, if_not_exists: "create" })
  const { creating } = await db.transaction(async (tx) => {
    await tx.run(sql`insert into threads (thread_id, metadata) values (${threadId}, '{"owner": "bob"}')`)
    const creating = createRun(known.server, { threadId, body })
    await untilBlocked(db)
    return { creating }
  })

  const { kwargs } = await creating

  assert.equal(JSON.parse(kwargs).config.metadata.owner, "bob")
})

test("a run whose assistant changes each time before it begins is refused, and nothing is created", async () => {
  await using known = await experienced()
  const { db } = known
  let changes = 0
  const restless = observed(known.server.db, (text) =>
    text.includes("begin_run") ? repaint(db, `colour ${++changes}`) : undefined,
  )
  const before = await db.row<{ n: number }>(sql`select count(*) as n from runs`)

  await assert.rejects(createRun({ ...known.server, db: restless }, known), { code: "thread_changed" })

  assert.equal(changes, 10)
  assert.deepEqual(await db.row(sql`select count(*) as n from runs`), before)
})
