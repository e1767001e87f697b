import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import type { Sql } from "@superstep/toolkit/db/sql"
import { asUnavailable, DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { createLog } from "@superstep/toolkit/log/log"
import { until } from "@superstep/toolkit/testing/until"
import pg from "pg"
import { EventLog } from "./event-log.js"

const log = createLog({ process: "test", level: "silent" })

interface Batch {
  /** `run:seq` of each event. */
  readonly events: readonly string[]
  commit(refused?: readonly { runId: string; seq: number }[]): void
  fail(error: unknown): void
}

/** A database that commits a batch only when the test calls `commit`. */
function slowDatabase() {
  const batches: Batch[] = []
  const rows = (statement: Sql) =>
    new Promise((resolve, reject) => {
      const [runs, seqs] = statement.render().values as [string[], number[]]
      const events = runs.map((run, i) => `${run}:${seqs[i]}`)
      batches.push({
        events,
        commit: (refused = []) => resolve(refused.map((event) => ({ ...event, threadId: null }))),
        fail: reject,
      })
    })
  const next = async (): Promise<Batch> => {
    await until(() => batches.length > 0, { what: "a batch is written" })
    return batches.shift() as Batch
  }
  return { db: { rows } as unknown as Database, batches, next }
}

const startLog = (db: Database) => new EventLog({ db, log, onAppended: () => undefined })

const kilobytes = (count: number) => Buffer.from(JSON.stringify("x".repeat(count * 1024)))
const small = { event: "values", data: Buffer.from("{}") }

test("a caller that appends to a log that is far behind waits until its events are committed (G5)", async () => {
  const { db, next } = slowDatabase()
  const eventLog = startLog(db)
  let seq = 0
  const append = () => eventLog.append("r", { seq: seq++, event: "values", data: kilobytes(1024) })

  const early = append()
  let wait: Promise<void> | undefined
  while (wait === undefined) wait = append()
  let hasWaited = false
  const waited = wait.then(() => {
    hasWaited = true
  })

  assert.equal(early, undefined)
  assert.ok(seq > 2 && seq < 8, `${seq} MB were taken`)
  for (let left = seq; left > 0; ) {
    const { events, commit } = await next()
    assert.equal(hasWaited, false)
    commit()
    left -= events.length
  }
  await waited
  assert.equal(append(), undefined)
  ;(await next()).commit()
})

test("a caller that appends many small events waits long before a million are in memory (G5)", async () => {
  const { db, next } = slowDatabase()
  const eventLog = startLog(db)
  let seq = 0

  let wait: Promise<void> | undefined
  while (wait === undefined) wait = eventLog.append("r", { seq: seq++, ...small })

  assert.ok(seq > 1000 && seq < 50_000, `${seq} events were taken`)
  for (let left = seq; left > 0; ) {
    const { events, commit } = await next()
    commit()
    left -= events.length
  }
  await wait
})

test("events that a stopping server cannot log are dropped, and callers that wait for them get an error (G2, G3, G6)", async () => {
  let isAway = true
  const db = {
    rows: async () => {
      if (isAway) throw new DatabaseUnavailable("the database cannot be reached")
      return []
    },
  } as unknown as Database
  const eventLog = startLog(db)
  const logged: number[] = []
  const onLogged = ({ seq }: { seq: number }) => logged.push(seq)
  eventLog.append("r", { seq: 0, ...small }, onLogged)
  const told = assert.rejects(eventLog.flushed("r"), Unavailable)

  await eventLog.close()
  isAway = false
  eventLog.append("r", { seq: 1, ...small }, onLogged)

  await told
  await assert.rejects(eventLog.flushed("r"), Unavailable)
  assert.deepEqual(logged, [])
})

test("an event is dropped only when Postgres rejects it, not when Postgres is unavailable (G3, G4)", async () => {
  const taken: number[] = []
  const failures = ["40P01", "40P01", "53100"]
  const rows = async (statement: Sql) => {
    const code = failures.shift()
    if (code !== undefined) throw asUnavailable(Object.assign(new pg.DatabaseError("not now", 0, "error"), { code }))
    const seqs = statement.render().values[1] as number[]
    if (seqs.includes(1)) throw Object.assign(new pg.DatabaseError("never", 0, "error"), { code: "22021" })
    taken.push(...seqs)
    return []
  }
  const eventLog = startLog({ rows } as unknown as Database)
  const logged: number[] = []

  for (const seq of [0, 1, 2]) eventLog.append("r", { seq, ...small }, (event) => logged.push(event.seq))
  await eventLog.flushed("r")

  assert.deepEqual(taken, [0, 2])
  assert.deepEqual(logged, [0, 2])
})

test("an event is announced after its commit, in order, and an event of an ended attempt is not announced (G1, G6)", async () => {
  const { db, next } = slowDatabase()
  const eventLog = startLog(db)
  const logged: number[] = []
  const append = (seq: number) => eventLog.append("r", { seq, ...small }, (event) => logged.push(event.seq))
  append(0)
  append(1)
  const first = await next()
  append(2)
  const before = [...logged]

  first.commit()
  const second = await next()
  const between = [...logged]
  second.commit([{ runId: "r", seq: 2 }])
  await eventLog.flushed("r")

  assert.deepEqual(first.events, ["r:0", "r:1"])
  assert.deepEqual([before, between, logged], [[], [0, 1], [0, 1]])
})

test("a run with many events delays neither other runs' events nor callers that wait for them (G2, G7)", async () => {
  const { db, next } = slowDatabase()
  const eventLog = startLog(db)
  for (let seq = 0; seq < 40; seq++) eventLog.append("flood", { seq, event: "values", data: kilobytes(100) })
  const first = await next()
  eventLog.append("other", { seq: 0, ...small })
  const flushed = eventLog.flushed("other")

  first.commit()
  const second = await next()
  second.commit()
  await flushed

  assert.ok(second.events.includes("other:0"), `${second.events}`)
  assert.ok(first.events.length + second.events.length < 40, "the flood is not over yet")
  for (let batch = second; !batch.events.includes("flood:39"); batch.commit()) batch = await next()
})
