import assert from "node:assert/strict"
import { test } from "node:test"
import type { Database } from "@superstep/toolkit/db/database"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { addDeployment, addRevision } from "../revisions/testing/rows.js"
import { migrations } from "../testing/api.js"
import { type Follower, LiveLogs } from "./live-logs.js"
import { appendLogLines } from "./operations.js"

async function withRevision(db: Database) {
  const deploymentId = await addDeployment(db)
  const revisionId = await addRevision(db, deploymentId)
  const say = (...lines: string[]) => appendLogLines(db, revisionId, "deploy", lines)
  return { deploymentId, revisionId, say }
}

/** Reads until that many lines have arrived. */
async function take(follower: Follower, count: number): Promise<string[]> {
  const all: string[] = []
  while (all.length < count) {
    const rows = await follower.next(60_000)
    assert.ok(rows, "the log goes on")
    all.push(...rows.map(({ message }) => message))
  }
  return all
}

test("a reader gets each line once and in order, from its position on (F1)", async () => {
  await using db = await freshDatabase({ migrations })
  const { deploymentId, say } = await withRevision(db)
  await say("before")
  const live = new LiveLogs({ db, log })
  const fromNow = await live.follow({ deploymentId })
  const fromStart = await live.follow({ deploymentId }, 0)

  await say("one", "two")
  await say("three")

  assert.deepEqual(await take(fromNow, 3), ["one", "two", "three"])
  assert.deepEqual(await take(fromStart, 4), ["before", "one", "two", "three"])
  await live.close()
})

test("a slow reader reads lines that left memory from the table, and misses none (F2)", async () => {
  await using db = await freshDatabase({ migrations })
  const { deploymentId, say } = await withRevision(db)
  const live = new LiveLogs({ db, log })
  const slow = await live.follow({ deploymentId })
  const quick = await live.follow({ deploymentId })
  const lines = Array.from({ length: 4000 }, (_, index) => `line ${index}`)

  const reading = take(quick, lines.length)
  for (let from = 0; from < lines.length; from += 250) await say(...lines.slice(from, from + 250))

  assert.deepEqual(await reading, lines)
  assert.deepEqual(await take(slow, lines.length), lines)
  await live.close()
})

test("hundreds of readers of a deployment cause one read per notification (F3)", async () => {
  await using db = await freshDatabase({ migrations })
  const { deploymentId, say } = await withRevision(db)
  let reads = 0
  const counted = {
    ...db,
    rows: ((statement) => {
      reads++
      return db.rows(statement)
    }) as Database["rows"],
  }
  const live = new LiveLogs({ db: counted, log })
  const followers = await Promise.all(Array.from({ length: 300 }, () => live.follow({ deploymentId })))
  reads = 0

  const reading = Promise.all(followers.map((follower) => take(follower, 1)))
  await say("for all")

  for (const lines of await reading) assert.deepEqual(lines, ["for all"])
  assert.ok(reads <= 2, `${reads} reads`)
  await live.close()
})

test("a reader gets the lines that it requested, and ends when it, or everything, is closed (F4)", async () => {
  await using db = await freshDatabase({ migrations })
  const { deploymentId, revisionId, say } = await withRevision(db)
  const live = new LiveLogs({ db, log })
  const errors = await live.follow({ deploymentId, revisionId, stream: "deploy", level: "ERROR", query: "BAD" })
  const printed = await live.follow({ deploymentId, hidesPlatform: true })
  const closed = await live.follow({ deploymentId })

  await appendLogLines(db, revisionId, "deploy", [{ message: "run started", isPlatform: true }])
  await say("bad, but no error")
  await appendLogLines(db, revisionId, "build", [{ message: "bad build", level: "ERROR" }])
  await appendLogLines(db, revisionId, "deploy", [{ message: "really bad", level: "ERROR" }])
  assert.deepEqual(await take(errors, 1), ["really bad"])
  assert.deepEqual(await take(printed, 3), ["bad, but no error", "bad build", "really bad"])
  printed.close()
  const waiting = errors.next(60_000)
  closed.close()
  assert.equal(await closed.next(60_000), undefined)
  await live.close()

  assert.equal(await waiting, undefined)
})
