/** Statements on threads. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"
import type { ConfiguredThread, ReadThread, ThreadRow, ThreadTtl, TtlStrategy } from "./thread.js"

/** The columns of a `ThreadRow`. */
export const threadColumns: Sql = sql`thread_id, status_of(threads) as status, graph_id, assistant_id, metadata, config, values, interrupts, error,
  created_at, updated_at, state_updated_at`

/** @param filter  what the metadata must match for the caller to see the thread */
export const findThread = (db: Db, threadId: string, filter?: MetadataFilter): Promise<ThreadRow | undefined> =>
  db.row<ThreadRow>(sql`
    select ${threadColumns} from threads
    where thread_id = ${threadId} and ${matchesFilter(sql`searchable_metadata`, filter)}`)

/** The thread that has this id, and whether the caller may see it. One statement: two would miss a thread that is created between them. */
export const findTakenId = (
  db: Db,
  threadId: string,
  filter: MetadataFilter | undefined,
): Promise<(ThreadRow & { readonly is_visible: boolean }) | undefined> =>
  db.row(sql`
    select ${threadColumns}, ${matchesFilter(sql`searchable_metadata`, filter)} as is_visible
    from threads where thread_id = ${threadId}`)

// JSON text; null when no run has started on the thread.
const lastRun: Sql = sql`(
  select json_build_object('configurable', part_of_json(r.kwargs, '{config, configurable}'), 'caller', r.caller)::text from runs r
  where r.thread_id = threads.thread_id and r.status <> 'pending' order by r.seq desc limit 1) as last_run`

/** Selects a `ReadThread`: a thread with the data that its graph's config is made from, without its state. */
export const readThread = (threadId: string, filter: MetadataFilter | undefined): Sql => sql`
  select thread_id, graph_id, assistant_id, metadata::text as metadata, config::text as config, ${lastRun},
    array(select r.run_id::text from runs r
      where r.thread_id = threads.thread_id and r.status in ('pending', 'running') order by r.seq) as in_flight
  from threads where thread_id = ${threadId} and ${matchesFilter(sql`searchable_metadata`, filter)}`

export const findReadThread = (db: Db, threadId: string, filter?: MetadataFilter): Promise<ReadThread | undefined> =>
  db.row<ReadThread>(readThread(threadId, filter))

/** A thread as in its row, locked until the transaction ends. */
export const lockThread = (db: Db, threadId: string, filter?: MetadataFilter): Promise<ThreadRow | undefined> =>
  db.row<ThreadRow>(sql`
    select ${threadColumns} from threads
    where thread_id = ${threadId} and ${matchesFilter(sql`searchable_metadata`, filter)} for update`)

/** @returns the new thread, or undefined when the id is taken */
export const insertThread = (db: Db, threadId: string, metadata: string): Promise<ThreadRow | undefined> =>
  db.row<ThreadRow>(sql`
    insert into threads (thread_id, metadata) values (${threadId}, ${metadata}) on conflict do nothing
    returning ${threadColumns}`)

export const setMetadata = (db: Db, threadId: string, metadata: string): Promise<ThreadRow | undefined> =>
  db.row<ThreadRow>(sql`
    update threads set metadata = ${metadata}, updated_at = now() where thread_id = ${threadId}
    returning ${threadColumns}`)

/** The thread from which an update of the state is computed: any change of the thread or its state makes another version (T1). */
export interface ThreadVersion extends ThreadRow, ConfiguredThread {
  readonly version: string
  readonly is_busy: boolean
}

/** A thread with its version, read in one snapshot. `xmin` is the transaction that wrote the row last. */
export const findVersion = (db: Db, threadId: string, filter?: MetadataFilter): Promise<ThreadVersion | undefined> =>
  db.row<ThreadVersion>(sql`
    select ${threadColumns}, ${lastRun}, xmin::text as version, is_in_flight(thread_id) as is_busy from threads
    where thread_id = ${threadId} and ${matchesFilter(sql`searchable_metadata`, filter)}`)

/** Writes the state after an update, as JSON texts. */
export const setState = (db: Db, threadId: string, state: { values: string; interrupts: string }) =>
  db.row<ThreadRow>(sql`
    update threads set values = ${state.values}, interrupts = ${state.interrupts}, updated_at = now(), state_updated_at = now()
    where thread_id = ${threadId} returning ${threadColumns}`)

// One portion takes about a second on a slow machine: far below the time limit of a statement.
const pruned = { rows: 5000, bytes: 16 * 1024 * 1024 }

/**
 * Keeps the newest checkpoint of each namespace, in portions. A run that is created in between ends the pruning; what is left has a
 * shorter history.
 * @returns whether the thread was pruned: a thread with a run in flight stays unchanged
 */
export async function keepLatestCheckpoints(db: Db, threadId: string, filter?: MetadataFilter): Promise<boolean> {
  for (let isFirst = true; ; isFirst = false) {
    const outcome = await pruneCheckpoints(db, threadId, filter)
    if (outcome !== "more") return outcome === "done" || !isFirst
  }
}

/** The first portion of what is to be pruned. */
export async function pruneCheckpoints(
  db: Db,
  threadId: string,
  filter: MetadataFilter | undefined,
): Promise<"skipped" | "more" | "done"> {
  const row = await db.row<{ outcome: "skipped" | "more" | "done" }>(sql`
    select prune_checkpoints(thread_id, ${pruned.rows}, ${pruned.bytes}) as outcome from threads
    where thread_id = ${threadId} and ${matchesFilter(sql`searchable_metadata`, filter)}`)
  return row?.outcome ?? "skipped"
}

/** An assistant's `configurable`: JSON text. */
export const findAssistantConfig = (
  db: Db,
  assistantId: string,
): Promise<{ configurable: string | null } | undefined> =>
  db.row(
    sql`select part_of_json(config, '{configurable}') as configurable from assistants where assistant_id = ${assistantId}`,
  )

export const findTtl = (db: Db, threadId: string): Promise<ThreadTtl | undefined> =>
  db.row<ThreadTtl>(sql`select strategy, ttl_minutes, expires_at from thread_ttls where thread_id = ${threadId}`)

/** A thread with its time to live, whose columns are null for one that never expires. */
export const findThreadWithTtl = (
  db: Db,
  threadId: string,
  filter: MetadataFilter | undefined,
): Promise<(ThreadRow & (ThreadTtl | { readonly strategy: null })) | undefined> =>
  db.row(sql`
    select ${threadColumns}, strategy, ttl_minutes, expires_at from threads left join thread_ttls using (thread_id)
    where thread_id = ${threadId} and ${matchesFilter(sql`searchable_metadata`, filter)}`)

/** Sets a thread's time to live, counted from now. */
export const setTtl = (db: Db, threadId: string, { strategy, minutes }: { strategy: TtlStrategy; minutes: number }) =>
  db.run(sql`
    insert into thread_ttls (thread_id, strategy, ttl_minutes, expires_at)
    values (${threadId}, ${strategy}, ${minutes}, now() + make_interval(secs => ${minutes}::float8 * 60))
    on conflict (thread_id) do update
      set strategy = excluded.strategy, ttl_minutes = excluded.ttl_minutes, expires_at = excluded.expires_at`)
