import assert from "node:assert/strict"
import { createHash, randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { serverDatabase } from "../testing/test-server.js"
import { answerOnce, type RequestKey } from "./answers.js"

const sha256 = (text: string) => createHash("sha256").update(text).digest()

const keyOf = (key: string, request = "the request"): RequestKey => ({
  keySha256: sha256(key),
  requestSha256: sha256(request),
  otherRequest: () => new Error("another request"),
})

/** Creates a thread and replies with its id. */
const makeThread = async (db: Db) => {
  const threadId = randomUUID()
  await db.run(sql`insert into threads (thread_id) values (${threadId})`)
  return { status: 200, headers: { "content-type": "text/plain" }, body: threadId }
}

const threadsIn = async (db: Db) =>
  (await db.rows<{ thread_id: string }>(sql`select thread_id from threads`)).map(({ thread_id }) => thread_id)

/** A database that terminates the connection before the n-th statement of a transaction, as a kill would. */
const killedBefore = (db: Database, n: number): Database => ({
  ...db,
  transaction: (work) =>
    db.transaction(async (tx) => {
      let left = n
      const orKilled = async <T>(run: () => Promise<T>): Promise<T> => {
        if (left-- === 0) await tx.run(sql`select pg_terminate_backend(pg_backend_pid())`)
        return run()
      }
      const result = await work({
        rows: (statement) => orKilled(() => tx.rows(statement)),
        row: (statement) => orKilled(() => tx.row(statement)),
        run: (statement) => orKilled(() => tx.run(statement)),
      })
      // Before the commit.
      if (left === 0) await tx.run(sql`select pg_terminate_backend(pg_backend_pid())`)
      return result
    }),
})

test("after a kill between any two statements a retry with the key has exactly one effect", async () => {
  await using db = await serverDatabase()

  for (let n = 0; n <= 4; n++) {
    const key = keyOf(`killed at ${n}`)
    await assert.rejects(answerOnce(killedBefore(db, n), key, makeThread), DatabaseUnavailable)
    const before = await threadsIn(db)
    const { answer, isRepeated } = await answerOnce(db, key, makeThread)

    assert.equal(before.length, n, `killed before statement ${n}`)
    assert.equal(isRepeated, false)
    assert.equal((await answerOnce(db, key, makeThread)).answer.body, answer.body)
    assert.equal((await threadsIn(db)).length, n + 1)
  }
})

test("concurrent requests with one key have one effect and the same reply; failed work may be retried with it, and it is valid for one request", async () => {
  await using db = await serverDatabase()

  const outcomes = await Promise.all(Array.from({ length: 8 }, () => answerOnce(db, keyOf("k"), makeThread)))

  assert.equal(outcomes.filter(({ isRepeated }) => !isRepeated).length, 1)
  assert.deepEqual([...new Set(outcomes.map(({ answer }) => answer.body))], await threadsIn(db))

  const failing = async (tx: Db) => {
    await makeThread(tx)
    throw new Error("not now")
  }

  await assert.rejects(answerOnce(db, keyOf("failing"), failing), /not now/)
  const { isRepeated } = await answerOnce(db, keyOf("failing"), makeThread)
  await assert.rejects(answerOnce(db, keyOf("failing", "another one"), makeThread), /another request/)

  assert.equal(isRepeated, false)
  assert.equal((await threadsIn(db)).length, 2)
})

test("a key expires after 24 hours", async () => {
  await using db = await serverDatabase()
  const age = (hours: number) =>
    db.run(sql`update idempotency_keys set created_at = now() - make_interval(hours => ${hours})`)
  await answerOnce(db, keyOf("a"), makeThread)
  await answerOnce(db, keyOf("b"), makeThread)
  await age(23)
  const within = await answerOnce(db, keyOf("a"), makeThread)
  await age(25)

  const after = await answerOnce(db, keyOf("a", "another one"), makeThread)

  assert.deepEqual([within.isRepeated, after.isRepeated], [true, false])
  assert.deepEqual(await db.row(sql`select count(*) as n from idempotency_keys`), { n: 1 })
})
