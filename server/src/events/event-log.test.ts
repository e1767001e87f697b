import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { createLog } from "@superstep/toolkit/log/log"
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
