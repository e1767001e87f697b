/** Events of runs that have a log: they are committed in order with the checkpoints of their attempt. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Db } from "@superstep/toolkit/db/database"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { pageOfRun, pageOfThread } from "../events/queries.js"
import type { LogEvent } from "./claim-batch.js"
import { Journal } from "./journal.js"
import {
  addRun,
  checkpoint,
  ending,
  gate,
  idsOf,
  serverDatabase,
  statusOf,
  type TestRun,
  watched,
} from "./testing/claimed-runs.js"

const event = (seq: number, data = "{}"): LogEvent => ({ seq, event: "values", data })

/** An attempt of a run with a log, and what its clients were told: the events, and where they are in the log of the thread. */
function logging(journal: Journal, run: TestRun) {
  const told: { seq: number; place: number | undefined; after: number | null }[] = []
  const attempt = journal.open(run, { number: 1, threadId: run.threadId })
  attempt.whenLogged = (events, { after, places }) => {
    for (const { seq } of events) told.push({ seq, place: places.get(seq), after })
  }
  return { attempt, told, seqs: () => told.map(({ seq }) => seq) }
}

const logOf = async (db: Db, { runId }: TestRun) => {
  const { events } = await pageOfRun(db, runId, -1)
  return events.map(({ seq }) => seq)
}

test("a checkpoint is committed in one statement with the events that led to it, and the end with the last ones (K1, K2)", async () => {
  await using db = await serverDatabase()
  const { told: counted, db: watchedDb } = watched(db)
  const journal = new Journal({ db: watchedDb, log })
  const run = await addRun(db)
  const { attempt, told, seqs } = logging(journal, run)

  attempt.log(event(0))
  attempt.log(event(1))
  const saved = attempt.putCheckpoint(checkpoint(run, "a"))
  const before = seqs()
  await saved
  const between = seqs()
  attempt.log(event(2))
  const written = await attempt.finish(() => ending(run, { events: [event(3)] }))

  assert.equal(counted.statements, 2)
  assert.deepEqual([before, between, seqs()], [[], [0, 1], [0, 1, 2]])
  assert.deepEqual(await logOf(db, run), [0, 1, 2, 3])
  assert.equal(written.outcome, "finished")
  const places = (await pageOfThread(db, run.threadId, -1)).events.map(({ place }) => place)
  assert.deepEqual(fieldsOf(told, "place", "after"), [
    [places[0], -1],
    [places[1], -1],
    [places[2], places[1]],
  ])
})

test("events whose commit had no answer are told once, also when the run's end was committed with them (K2, K4)", async () => {
  await using db = await serverDatabase()
  let isLost = true
  const rows: Db["rows"] = async (statement) => {
    const answer = await db.rows<never>(statement)
    if (!isLost) return answer
    isLost = false
    throw new DatabaseUnavailable("the answer was lost")
  }
  const journal = new Journal({ db: { ...db, rows }, log })
  const [run, other] = [await addRun(db), await addRun(db)]
  const [ended, going] = [logging(journal, run), logging(journal, other)]

  ended.attempt.log(event(0))
  going.attempt.log(event(0))
  const written = await ended.attempt.finish(() => ending(run))
  await going.attempt.settled()

  assert.deepEqual([written.outcome, written.isRepeated], ["claim_lost", true])
  assert.deepEqual([ended.seqs(), going.seqs()], [[0], [0]])
  assert.deepEqual([ended.told[0]?.after, going.told[0]?.place], [null, undefined])
})

for (const [name, data, least, most] of [
  ["large", JSON.stringify("x".repeat(1024 * 1024)), 3, 8],
  ["small", "{}", 1000, 50_000],
] as const) {
  test(`a run that logs ${name} events faster than the database waits for its own commits (K7)`, async () => {
    await using shared = await serverDatabase()
    const { told, db } = watched(shared)
    const answers = gate()
    told.answered = answers.opened
    const journal = new Journal({ db, log })
    const run = await addRun(shared)
    const { attempt, seqs } = logging(journal, run)

    let count = 0
    let wait: Promise<void> | undefined
    while (wait === undefined) wait = attempt.log(event(count++, data))
    const waiting = seqs()
    answers.open()
    await wait

    assert.ok(count >= least && count < most, `${count} events were taken`)
    assert.deepEqual(waiting, [])
    assert.equal(seqs().length, count)
    assert.equal(attempt.log(event(count)), undefined)
    await attempt.settled()
  })
}

test("an event that Postgres rejects is dropped alone, and its run goes on (K3)", async () => {
  await using db = await serverDatabase()
  const journal = new Journal({ db, log })
  const [run, other] = [await addRun(db), await addRun(db)]
  const [bad, good] = [logging(journal, run), logging(journal, other)]

  for (const seq of [0, 1, 2]) bad.attempt.log({ ...event(seq), event: seq === 1 ? "a\0b" : "values" })
  good.attempt.log(event(0))
  await Promise.all([bad.attempt.putCheckpoint(checkpoint(run, "a")), good.attempt.settled()])

  assert.deepEqual([bad.seqs(), good.seqs()], [[0, 2], [0]])
  assert.deepEqual(await idsOf(db, run), ["a"])
})

test("a run that logs much does not delay the events of others (K9)", async () => {
  await using shared = await serverDatabase()
  const { told, db } = watched(shared)
  const journal = new Journal({ db, log })
  const [floodRun, otherRun] = [await addRun(shared), await addRun(shared)]
  const [flood, other] = [logging(journal, floodRun), logging(journal, otherRun)]
  const answers = gate()
  told.answered = answers.opened

  for (let seq = 0; seq < 20_000; seq++) flood.attempt.log(event(seq))
  await until(() => told.statements > 0, { what: "the flood is being written" })
  other.attempt.log(event(0))
  answers.open()
  await other.attempt.settled()

  assert.deepEqual(other.seqs(), [0])
  assert.ok(flood.seqs().length < 20_000, "the flood is not over yet")
  await flood.attempt.settled()
  assert.equal(flood.seqs().length, 20_000)
})

test("behind events that a stopping server could not log, nothing is saved (K1, K4)", async () => {
  await using shared = await serverDatabase()
  const { told, db } = watched(shared)
  told.failures = Number.POSITIVE_INFINITY
  const journal = new Journal({ db, log })
  const run = await addRun(shared)
  const { attempt, seqs } = logging(journal, run)

  attempt.log(event(0))
  await until(() => told.statements > 0, { what: "a first try" })
  journal.close()
  await attempt.settled()
  told.failures = 0
  attempt.log(event(1))
  await assert.rejects(attempt.putCheckpoint(checkpoint(run, "a")), DatabaseUnavailable)
  await assert.rejects(
    attempt.finish(() => ending(run)),
    DatabaseUnavailable,
  )

  assert.deepEqual(seqs(), [])
  assert.deepEqual([await logOf(shared, run), await idsOf(shared, run)], [[], []])
  assert.equal(await statusOf(shared, run), "running")
})
