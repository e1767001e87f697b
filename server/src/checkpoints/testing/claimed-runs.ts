/** Runs with a claim, for tests of what their attempts write. */
import { randomUUID } from "node:crypto"
import type { Database, Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { silent as log } from "@superstep/toolkit/testing/test-cluster"
import { serverDatabase } from "../../testing/test-server.js"
import type { Fence } from "../../workers/fence.js"
import type { NewCheckpoint, PendingWrite } from "../checkpoint.js"
import type { Ending } from "../claim-batch.js"
import { Journal } from "../journal.js"
import { findCheckpoints } from "../queries.js"

export { serverDatabase }

export interface TestRun extends Fence {
  readonly threadId: string
}

/** Executes, in its first attempt. */
export async function addRun(db: Db, threadId: string = randomUUID()): Promise<TestRun> {
  const [runId, claimId] = [randomUUID(), randomUUID()]
  await db.run(sql`insert into threads (thread_id, status) values (${threadId}, 'busy')`)
  await db.run(sql`
    insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, claim_id, attempt)
    values (${runId}, ${threadId}, ${randomUUID()}, 'chat', 'running', '{}', '{}', 'enqueue', ${claimId}, 1)`)
  return { runId, claimId, threadId }
}

type OnThread = Pick<TestRun, "threadId">

export const checkpoint = ({ threadId }: OnThread, id: string, over: Partial<NewCheckpoint> = {}): NewCheckpoint => ({
  threadId,
  checkpointNs: "",
  checkpointId: id,
  parentCheckpointId: null,
  checkpoint: JSON.stringify({
    v: 4,
    id,
    ts: "2026-01-01T00:00:00Z",
    channel_versions: { messages: id },
    versions_seen: {},
  }),
  metadata: "{}",
  blobs: [{ channel: "messages", version: id, type: "json", bytes: Buffer.from(`"value of ${id}"`) }],
  ...over,
})

/** Of a node, to `messages`. */
export const nodeWrite = (over: Partial<PendingWrite> = {}): PendingWrite => ({
  taskId: "task",
  taskPath: "",
  idx: 0,
  channel: "messages",
  type: "json",
  bytes: Buffer.from('"hello"'),
  ...over,
})

export const ending = ({ threadId }: TestRun, over: Partial<Ending> = {}): Ending => ({
  threadId,
  status: "success",
  threadStatus: "idle",
  error: null,
  values: '{"n":1}',
  interrupts: "{}",
  deletesThread: false,
  events: [],
  eventsOfRollback: [],
  ...over,
})

export const statusOf = async (db: Db, { runId }: TestRun) =>
  (await db.row<{ status: string }>(sql`select status from runs where run_id = ${runId}`))?.status

export const idsOf = async (db: Db, { threadId }: TestRun) =>
  (await findCheckpoints(db, { threadId, checkpointNs: "" })).map(({ checkpointId }) => checkpointId)

/** A promise that the test resolves. */
export function gate() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** A database that counts statements, fails on demand, and returns results when `answered` resolves. */
export function watched(db: Database) {
  const told = { statements: 0, failures: 0, answered: Promise.resolve() }
  const rows: Db["rows"] = async (statement) => {
    told.statements++
    if (told.failures > 0) {
      told.failures--
      throw new DatabaseUnavailable("the database cannot be reached", 1000)
    }
    const rows = await db.rows<never>(statement)
    await told.answered
    return rows
  }
  return { told, db: { ...db, rows } as Db }
}

/** An open attempt of a run, on a database that `told` counts and controls. */
export async function openAttempt({ number }: { readonly number?: number } = {}) {
  const db = await serverDatabase()
  const { told, db: observed } = watched(db)
  const journal = new Journal({ db: observed, log })
  const run = await addRun(db)
  const attempt = journal.open(run, number === undefined ? undefined : { number, threadId: run.threadId })
  return { db, told, journal, run, attempt, [Symbol.asyncDispose]: () => db[Symbol.asyncDispose]() }
}
