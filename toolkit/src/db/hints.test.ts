import assert from "node:assert/strict"
import { test } from "node:test"
import { freshDatabase } from "../testing/fresh-database.js"
import { silent } from "../testing/test-cluster.js"
import { until } from "../testing/until.js"
import type { Database, Db } from "./database.js"
import { Hints } from "./hints.js"

// Longer than any test: after the first statement only `close` sends.
const never = 2 ** 31 - 1

/** Counts the statements that reach the database; the first ones may fail. */
function counting(db: Database, { failures = 0 } = {}): Db & { statements: number } {
  const counted = {
    ...db,
    statements: 0,
    run: async (statement: Parameters<Db["run"]>[0]) => {
      counted.statements++
      if (counted.statements <= failures) throw new Error("the database is away")
      return db.run(statement)
    },
  }
  return counted
}

async function listenTo(db: Database, channels: readonly string[]): Promise<string[]> {
  const heard: string[] = []
  for (const channel of channels) await db.listen(channel, (payload) => heard.push(`${channel} ${payload}`))
  return heard
}

test("hints of the same moment are sent in one statement, equal ones once (H1)", async () => {
  await using db = await freshDatabase()
  const heard = await listenTo(db, ["runs", "cancels"])
  const counted = counting(db)
  const hints = new Hints({ db: counted, log: silent, mergeMs: never })

  for (const payload of ["a", "b", "a", ""]) hints.send("runs", payload)
  hints.send("cancels", "a")
  await until(() => heard.length === 4, { what: "all hints are heard" })

  assert.deepEqual(heard.sort(), ["cancels a", "runs ", "runs a", "runs b"])
  assert.equal(counted.statements, 1)
  await hints.close()
})

test("hints after a statement wait, so many, and share the next one, which close sends (H1, H2, H3)", async () => {
  await using db = await freshDatabase()
  const heard = await listenTo(db, ["runs"])
  const counted = counting(db)
  const hints = new Hints({ db: counted, log: silent, mergeMs: never, maxWaiting: 2 })
  hints.send("runs", "first")
  await until(() => heard.length === 1, { what: "the first hint is heard" })

  for (const payload of ["second", "third", "too many", "second"]) hints.send("runs", payload)
  await hints.close()
  hints.send("runs", "late")
  await hints.close()
  await until(() => heard.length === 3, { what: "the others are heard" })

  assert.deepEqual(heard, ["runs first", "runs second", "runs third"])
  assert.equal(counted.statements, 2)
})

test("hints that cannot be sent are dropped, and later ones are sent (H2)", async () => {
  await using db = await freshDatabase()
  const heard = await listenTo(db, ["runs"])
  const counted = counting(db, { failures: 1 })
  const hints = new Hints({ db: counted, log: silent, mergeMs: 0 })

  hints.send("runs", "lost")
  await until(() => counted.statements === 1, { what: "the first statement fails" })
  hints.send("runs", "next")
  await until(() => heard.length > 0, { what: "the next hint is heard" })

  assert.deepEqual(heard, ["runs next"])
  await hints.close()
})
