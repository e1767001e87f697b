import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import type { Sql } from "@superstep/toolkit/db/sql"
import { asUnavailable, DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { createLog } from "@superstep/toolkit/log/log"
import pg from "pg"
import { EventLog } from "./event-log.js"

const log = createLog({ process: "test", level: "silent" })

/** A database that takes a batch only when it is told to. */
function slowDatabase() {
  const batches: (() => void)[] = []
  const run = () => new Promise<number>((resolve) => batches.push(() => resolve(1)))
  return { db: { run } as unknown as Database, batches }
}

const megabyte = Buffer.from(JSON.stringify("x".repeat(1024 * 1024)))

test("whoever appends to a log that is far behind is told to wait until it has caught up (G5)", async () => {
  const { db, batches } = slowDatabase()
  const eventLog = new EventLog(db, log)
  let seq = 0
  const append = () => eventLog.append("r", { seq: seq++, event: "values", data: megabyte })

  const early = append()
  let wait: Promise<void> | undefined
  while (wait === undefined) wait = append()
  let hasWaited = false
  const waited = wait.then(() => {
    hasWaited = true
  })

  assert.equal(early, undefined)
  assert.ok(seq > 8 && seq < 32, `${seq} MB were taken`)
  for (let left = seq; left > 0; ) {
    await new Promise((resolve) => setImmediate(resolve))
    const commit = batches.shift()
    if (!commit) break
    assert.equal(hasWaited, false)
    commit()
    left--
  }
  await waited
  assert.equal(append(), undefined)
  batches.shift()?.()
})

test("what a stopping server cannot log is given up for good, and who waits for it is told so (G2, G3)", async () => {
  let isAway = true
  const db = {
    run: async () => {
      if (isAway) throw new DatabaseUnavailable("the database cannot be reached")
      return 1
    },
  } as unknown as Database
  const eventLog = new EventLog(db, log)
  const event = { event: "values", data: Buffer.from("{}") }
  eventLog.append("r", { seq: 0, ...event })
  const waiting = eventLog.flushed()
  const told = assert.rejects(waiting, Unavailable)

  await eventLog.close()
  isAway = false
  eventLog.append("r", { seq: 1, ...event })

  await told
  await assert.rejects(eventLog.flushed(), Unavailable)
})

test("an event is dropped only when Postgres refuses it, not when it cannot take it now (G3, G4)", async () => {
  const taken: number[] = []
  const failures = ["40P01", "40P01", "53100"]
  const run = async (statement: Sql) => {
    const code = failures.shift()
    if (code !== undefined) throw asUnavailable(Object.assign(new pg.DatabaseError("not now", 0, "error"), { code }))
    const seqs = statement.render().values[1] as number[]
    if (seqs.includes(1)) throw Object.assign(new pg.DatabaseError("never", 0, "error"), { code: "22021" })
    taken.push(...seqs)
    return seqs.length
  }
  const eventLog = new EventLog({ run } as unknown as Database, log)

  for (const seq of [0, 1, 2]) eventLog.append("r", { seq, event: "values", data: Buffer.from("{}") })
  await eventLog.flushed()

  assert.deepEqual(taken, [0, 2])
})
