import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import type { Span } from "@superstep/protocol/worker/frames"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Log } from "@superstep/toolkit/log/log"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { beginRun } from "../runs/queries.js"
import type { Claim } from "../runs/run.js"
import { newRun } from "../testing/new-run.js"
import { serverDatabase } from "../testing/test-server.js"
import { SpanWriter } from "./span-writer.js"

const span = (number: number): Span => ({
  span_id: randomUUID(),
  number,
  kind: "node",
  name: "agent",
  namespace: "agent:1",
  started_us: 1_795_970_000_123_456,
  ended_us: 1_795_970_000_123_457,
  status: "success",
})

/** A writer on a real database with a run, whose statements a test can observe or let fail. */
async function openWriter(beforeStatement: () => void = () => undefined, hasContent = true) {
  const db = await serverDatabase()
  const created = { ...newRun(randomUUID()), threadRule: "create_if_missing" } as const
  await beginRun(db, { ...created, canExecute: true })
  let statements = 0
  const observed = Object.assign(Object.create(db) as Db, {
    run: async (statement: Parameters<Db["run"]>[0]) => {
      statements += 1
      // As a statement on its way to the database.
      await Promise.resolve()
      beforeStatement()
      return db.run(statement)
    },
  })
  const warnings: string[] = []
  const log = Object.assign(Object.create(silent) as Log, {
    warn: (fields: { reason: string }) => warnings.push(fields.reason),
  })
  const writer = new SpanWriter({ db: observed, log, hasContent })
  const run = writer.observer.started({ runId: created.runId, attempt: 1, deletesThread: false } as Claim)
  return {
    writer,
    warnings,
    statements: () => statements,
    db,
    fail: (message: string) =>
      run.spans?.({ spans: [{ ...span(1), status: "error", error: { error: "ValueError", message } }], contents: [] }),
    give: (number: number, content = "") => run.spans?.({ spans: [span(number)], contents: [Buffer.from(content)] }),
    written: async () => (await db.rows(sql`select from run_spans`)).length,
    [Symbol.asyncDispose]: async () => {
      await writer.close()
      await db[Symbol.asyncDispose]()
    },
  }
}

test("a reader waits for the spans that had come when it asked, however many come meanwhile", async () => {
  let number = 1
  await using opened = await openWriter(() => {
    if (number < 20) opened.give(++number)
  })
  opened.give(1)

  await opened.writer.settled()

  assert.equal(opened.statements(), 1)
  assert.equal(await opened.written(), 1)
})

test("a reader that asks during a statement also waits for what has come since its begin", async () => {
  let late: Promise<void> | undefined
  await using opened = await openWriter(() => {
    if (late) return
    opened.give(2)
    late = opened.writer.settled()
  })
  opened.give(1)

  await opened.writer.settled()
  await late

  assert.equal(await opened.written(), 2)
})

test("a server that stops writes what waits, and gives up at the first statement that fails", async () => {
  let isAway = false
  await using opened = await openWriter(() => {
    if (isAway) throw new Error("the database is away")
  })
  opened.give(1)
  await opened.writer.settled()
  isAway = true
  for (const number of [2, 3, 4]) opened.give(number, "x".repeat(5_000_000))

  await opened.writer.close()

  assert.equal(opened.statements(), 2)
  assert.deepEqual([await opened.written(), opened.warnings], [1, ["they could not be written"]])
})

test("what does not fit is dropped, which is logged once while there is too much", async () => {
  const large = "x".repeat(17_000_000)
  let number = 0
  await using opened = await openWriter(() => {
    // One takes the place of that in the statement, and one is too many.
    for (let more = 0; number < 10 && more < 2; more++) opened.give(++number, large)
  })
  while (number < 5) opened.give(++number, large)

  await opened.writer.settled()

  assert.deepEqual(opened.warnings, ["too many wait for the database"])
  assert.equal(await opened.written(), 4)
})

test("without content the type of an error is kept, and not its message, which may quote arguments", async () => {
  await using opened = await openWriter(() => undefined, false)
  opened.fail("input_value='4111 1111 1111 1111'")

  await opened.writer.settled()

  const [row] = await opened.db.rows<{ span: string }>(sql`select span from run_spans`)
  assert.deepEqual(JSON.parse(row?.span ?? "{}").error, { error: "ValueError", message: "" })
})
