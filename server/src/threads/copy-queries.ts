/**
 * Copies a thread. Its checkpoints are copied in portions, so that no statement takes longer the longer the thread is, and all of them in
 * one snapshot, so that the copy is a state that the thread had. Answers need their
 * thread, so the snapshot says which ones the copy gets. The copy becomes a thread in a second transaction. In between it is
 * listed in `removed_threads`: should the server die, the sweep removes it.
 */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { identifier, joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { limitedWorks } from "@superstep/toolkit/exec/limited-works"
import { copyAnswers, findAnsweringRuns } from "./answer-queries.js"
import { threadColumns } from "./queries.js"
import type { ThreadRow } from "./thread.js"

interface CopiedTable {
  readonly name: string
  /** The primary key without the thread: portions go by it. */
  readonly key: readonly string[]
  readonly others: readonly string[]
  readonly sizeBytes: Sql
}

const tables: readonly CopiedTable[] = [
  {
    name: "checkpoints",
    key: ["checkpoint_ns", "checkpoint_id"],
    others: ["parent_checkpoint_id", "type", "checkpoint", "metadata", "is_replay_only", "seq"],
    sizeBytes: sql`pg_column_size(checkpoint) + pg_column_size(metadata)`,
  },
  {
    name: "checkpoint_blobs",
    key: ["checkpoint_ns", "channel", "version"],
    others: ["type", "blob"],
    sizeBytes: sql`coalesce(octet_length(blob), 0)`,
  },
  {
    name: "checkpoint_writes",
    key: ["checkpoint_ns", "checkpoint_id", "task_id", "idx"],
    others: ["channel", "type", "blob", "task_path"],
    sizeBytes: sql`octet_length(blob)`,
  },
]

// A portion takes about a second on a slow machine: far below the time limit of a statement.
const most = { rows: 2000, bytes: 8 * 1024 * 1024 }
// Each copy has one of the connections of requests for as long as it takes, and there are four by default. Other copies wait; how many,
// the limit of open requests says.
const inTurn = limitedWorks(2)
// From the copy of the checkpoints to that of the thread there is one round trip.
const keptMinutes = 10

/** A thread as it was in the snapshot of its checkpoints. */
interface Snapshot {
  readonly thread: CopiedThread
  /** The runs that had brought its answers. */
  readonly answeringRuns: readonly string[]
}

interface CopiedThread extends ThreadRow {
  readonly revision_id: string | null
  readonly is_pinned_until_rest: boolean
}

/**
 * Copies the checkpoints of a thread.
 * @returns a function that makes the copy a thread; undefined when there is no thread to copy
 */
export async function copyCheckpoints(
  db: Database,
  from: string,
  to: string,
): Promise<((tx: Db, metadata: string) => Promise<ThreadRow>) | undefined> {
  const found = await inTurn(() => db.transaction((tx) => copyInSnapshot(tx, from, to)))
  if (!found) return undefined
  const { thread, answeringRuns } = found
  return async (tx, metadata) => {
    const copy = await insertCopy(tx, { ...thread, thread_id: to, metadata })
    await copyAnswers(tx, from, to, answeringRuns)
    return copy
  }
}

async function copyInSnapshot(tx: Db, from: string, to: string): Promise<Snapshot | undefined> {
  await tx.run(sql`set transaction isolation level repeatable read`)
  const thread = await tx.row<CopiedThread>(sql`
    select ${threadColumns}, revision_id, is_pinned_until_rest from threads where thread_id = ${from}`)
  if (!thread) return undefined
  const answeringRuns = await findAnsweringRuns(tx, from)
  for (const table of tables)
    for (let last: Key | undefined; ; ) {
      last = await copyPortion(tx, table, { from, to, after: last })
      if (last === undefined) break
    }
  await tx.run(sql`
    insert into removed_threads (thread_id, not_before)
    values (${to}, clock_timestamp() + make_interval(mins => ${keptMinutes}))`)
  return { thread, answeringRuns }
}

type Key = Readonly<Record<string, unknown>>

/** @returns the key of the last row that was copied; undefined when there are no more */
async function copyPortion(
  tx: Db,
  { name, key, others, sizeBytes }: CopiedTable,
  { from, to, after }: { from: string; to: string; after: Key | undefined },
): Promise<Key | undefined> {
  const keys = joinSql(key.map(identifier), ", ")
  const backwards = joinSql(
    key.map((column) => sql`${identifier(column)} desc`),
    ", ",
  )
  const columns = joinSql([...key, ...others].map(identifier), ", ")
  const copied = [...key, ...others].map((column) =>
    column === "metadata" ? sql`jsonb_set(metadata, '{thread_id}', to_jsonb(${to}::text), false)` : identifier(column),
  )
  const isLater = after
    ? sql`(${keys}) > (${joinSql(
        key.map((column) => sql`${after[column]}`),
        ", ",
      )})`
    : sql`true`
  return tx.row<Key>(sql`
    with first as (
      select *, ${sizeBytes} as size from ${identifier(name)}
      where thread_id = ${from}::text and ${isLater} order by ${keys} limit ${most.rows}),
    portion as (
      select *, sum(size) over (order by ${keys} rows unbounded preceding) - size as bytes_before from first),
    copied as (
      insert into ${identifier(name)} (thread_id, ${columns})
      select ${to}::text, ${joinSql(copied, ", ")} from portion where bytes_before < ${most.bytes}
      returning ${keys})
    select ${keys} from copied order by ${backwards} limit 1`)
}

/** No run is copied, so the copy of a busy thread gets the status that the end of a run would leave. */
async function insertCopy(tx: Db, copy: CopiedThread): Promise<ThreadRow> {
  const isKept = await tx.run(sql`
    delete from removed_threads where thread_id = ${copy.thread_id} and not_before > clock_timestamp()`)
  if (isKept === 0) throw new Unavailable("the copy of the thread was not completed in time: try again")
  const atRest = copy.interrupts === "{}" ? "idle" : "interrupted"
  const status = copy.status === "busy" ? atRest : copy.status
  const inserted = await tx.row<ThreadRow>(sql`
    insert into threads (thread_id, status, graph_id, assistant_id, metadata, config, values, interrupts, error, revision_id,
      is_pinned_until_rest)
    values (${copy.thread_id}, ${status}, ${copy.graph_id}, ${copy.assistant_id}, ${copy.metadata}, ${copy.config}, ${copy.values},
      ${copy.interrupts}, ${copy.error}, ${copy.revision_id}, ${copy.is_pinned_until_rest})
    returning ${threadColumns}`)
  if (!inserted) throw new Error("an inserted thread was not returned")
  return inserted
}
