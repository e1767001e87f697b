/** A run is planned from what its server knows, and never from what is out of date. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { createAssistant } from "../assistants/operations.js"
import { anyone } from "../auth/caller.js"
import { createRun } from "../testing/as-anyone.js"
import { migrations, startTestServer } from "../testing/test-server.js"
import { createThread } from "../threads/operations.js"
import { newRun } from "./schema.js"

/** Two servers on one database, an assistant and a thread, from which the first has created a run. */
async function experienced(db: Database) {
  const server = await startTestServer(db)
  const { assistant_id } = await createAssistant(server, anyone, {
    graph_id: "agent",
    context: { colour: "red" },
    metadata: { team: "a" },
  })
  const { thread_id: threadId } = await createThread(server.db, anyone, {
    threadId: undefined,
    metadata: { owner: "ann" },
    ifExists: "raise",
    ttl: undefined,
  })
  const body = newRun.parse({ assistant_id, input: {}, multitask_strategy: "enqueue" })
  const create = async (at = server) => JSON.parse((await createRun(at, { threadId, body })).kwargs)
  await create()
  return {
    server,
    assistantId: assistant_id,
    threadId,
    body,
    create,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
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
  await using db = await freshDatabase({ migrations })
  await using known = await experienced(db)
  const statements: string[] = []
  const counted = observed(known.server.db, async (text) => statements.push(text))

  await createRun({ ...known.server, db: counted }, known)

  assert.equal(statements.length, 1, statements.join("\n"))
})

test("a run gets what another server has changed, and not what its own server remembers", async () => {
  await using db = await freshDatabase({ migrations })
  await using known = await experienced(db)

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
  await using db = await freshDatabase({ migrations })
  await using known = await experienced(db)
  const { assistantId } = known

  await db.run(sql`delete from assistants where assistant_id = ${assistantId}`)
  await assert.rejects(known.create(), NotFound)
  await createAssistant(known.server, anyone, {
    assistant_id: assistantId,
    graph_id: "agent",
    context: { colour: "old" },
  })
  const first = await known.create()
  await db.run(sql`delete from assistants where assistant_id = ${assistantId}`)
  await createAssistant(known.server, anyone, {
    assistant_id: assistantId,
    graph_id: "agent",
    context: { colour: "new" },
  })
  const second = await known.create()

  assert.deepEqual([first.context.colour, second.context.colour], ["old", "new"])
})

test("a run whose assistant changes each time before it begins is refused, and nothing is created", async () => {
  await using db = await freshDatabase({ migrations })
  await using known = await experienced(db)
  let changes = 0
  const restless = observed(known.server.db, (text) =>
    text.includes("begin_run") ? repaint(db, `colour ${++changes}`) : undefined,
  )
  const before = await db.row<{ n: number }>(sql`select count(*) as n from runs`)

  await assert.rejects(createRun({ ...known.server, db: restless }, known), (error) => {
    return error instanceof Conflict && error.code === "thread_changed"
  })

  assert.equal(changes, 10)
  assert.deepEqual(await db.row(sql`select count(*) as n from runs`), before)
})
