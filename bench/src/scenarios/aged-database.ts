/** Fills a database like that of an old installation: threads, ended runs, and checkpoints of some threads. */
import type { Database } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"

export interface Age {
  readonly runs: number
  readonly threads: number
}

// Every n-th thread has checkpoints. Those of all threads would need much disk, and no statement reads another thread's.
export const checkpointedEvery = 10

// So that a page of an owner's threads has the same size in every database.
const threadsOfAnOwner = 20

/** A random owner of threads. */
export const someOwner = ({ threads }: Age): string =>
  `user ${Math.floor((Math.random() * threads) / threadsOfAnOwner)}`

// Small enough that a statement can be interrupted within seconds.
const rowsAtOnce = 100_000

/** The n-th old thread, from 0. */
export const oldThreadId = (n: number): Sql => sql`md5('old thread ' || ${n}::bigint)::uuid`

/** Inserts threads and runs that are older than the benchmark's, with mixed assistants and users. */
export async function age(db: Database, { runs, threads }: Age, templateThreadId: string): Promise<void> {
  await inPieces(threads, (from, to) => db.run(insertThreads(from, to, threads / threadsOfAnOwner)))
  await inPieces(runs, (from, to) => db.run(insertRuns(from, to, threads)))
  await inPieces(threads / checkpointedEvery, async (from, to) => {
    for (const statement of copyCheckpoints(from, to, templateThreadId)) await db.run(statement)
  })
  await db.run(sql`vacuum analyze`)
  // Postgres would write what was filled in while the statements are timed.
  await db.run(sql`checkpoint`)
}

async function inPieces(count: number, fill: (from: number, to: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += rowsAtOnce) await fill(from, Math.min(count, from + rowsAtOnce) - 1)
}

const insertThreads = (from: number, to: number, owners: number): Sql => sql`
  insert into threads (thread_id, status, graph_id, assistant_id, metadata, values, created_at, updated_at, state_updated_at)
  select md5('old thread ' || n)::uuid, case n % 20 when 0 then 'interrupted' when 1 then 'error' else 'idle' end, 'echo',
    md5('assistant ' || n % 50)::uuid, json_build_object('owner', 'user ' || n % ${owners}::bigint), '{"messages": []}', at, at, at
  from (select n, now() - interval '1 day' - make_interval(secs => n) as at
    from generate_series(${from}::bigint, ${to}::bigint) as n) as numbered`

/** As the server makes them: version 7, in the order of time. */
const runIdAt = sql`
  (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || left(md5(n::text), 3) || '8' || right(md5(n::text), 15))::uuid`

const insertRuns = (from: number, to: number, threads: number): Sql => sql`
  insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, attempt, created_at,
    updated_at, not_before)
  select ${runIdAt}, md5('old thread ' || n % ${threads}::bigint)::uuid, md5('assistant ' || n % 50)::uuid, 'echo',
    case n % 50 when 0 then 'error' else 'success' end, json_build_object('owner', 'user ' || n % 10000),
    json_build_object('input', json_build_object('messages', repeat('as long as a question is ', 8)), 'stream_mode', 'values'),
    'enqueue', 1, at, at, at
  from (select n, now() - interval '1 day' - make_interval(secs => n / 10.0) as at
    from generate_series(${from}::bigint, ${to}::bigint) as n) as numbered`

/** Copies real checkpoints of a thread of the benchmark, because LangGraph must be able to read them. */
const copyCheckpoints = (from: number, to: number, template: string): readonly Sql[] => [
  sql`
    insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata,
      is_replay_only)
    select md5('old thread ' || n * ${checkpointedEvery}::bigint)::uuid::text, checkpoint_ns, checkpoint_id,
      parent_checkpoint_id, type, checkpoint, metadata, is_replay_only
    from checkpoints, generate_series(${from}::bigint, ${to}::bigint) as n where thread_id = ${template}::text`,
  sql`
    insert into checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    select md5('old thread ' || n * ${checkpointedEvery}::bigint)::uuid::text, checkpoint_ns, channel, version, type, blob
    from checkpoint_blobs, generate_series(${from}::bigint, ${to}::bigint) as n where thread_id = ${template}::text`,
]
