/** Statements on runs, except those of the queue (`claims.ts`). One exported function for each statement. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"
import type { NewEvent } from "../events/queries.js"
import type { StoppingRun, WaitingRun } from "../servers/server.js"
import type { ThreadTexts } from "./known.js"
import type { CancelAction, MultitaskStrategy, RunStatus } from "./run.js"

export interface RunRow {
  readonly run_id: string
  readonly thread_id: string
  readonly assistant_id: string
  readonly status: RunStatus
  readonly attempt: number
  /** JSON texts. */
  readonly metadata: string
  readonly kwargs: string
  readonly error: string | null
  readonly multitask_strategy: MultitaskStrategy
  readonly is_resumable: boolean
  readonly cancel_reason: string | null
  /** Whether the input of a run that ended without success is in its thread; null for every other run. */
  readonly input_saved: boolean | null
  /** The person that started it, as a JSON text; null for whoever is none. */
  readonly created_by: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** @param run  the table or alias of a run */
export const createdBy = (run: Sql): Sql =>
  sql`(select act.person from person_acts act where act.run_id = ${run}.run_id)`

/** @param filter  what the thread's metadata must match; without a filter the thread is not read */
export const findRun = (
  db: Db,
  threadId: string,
  runId: string,
  filter?: MetadataFilter,
): Promise<RunRow | undefined> =>
  db.row<RunRow>(sql`
    select run_id, thread_id, assistant_id, status, attempt, metadata, kwargs, error, multitask_strategy, is_resumable,
      cancel_reason, input_saved, ${createdBy(sql`runs`)} as created_by, created_at, updated_at
    from runs where thread_id = ${threadId} and run_id = ${runId}${ofThreadThat(filter)}`)

export interface EndedRun {
  readonly status: RunStatus
  /** JSON text. */
  readonly error: string | null
  readonly cancel_reason: string | null
  /** JSON texts: the thread's present state. */
  readonly values: string | null
  readonly interrupts: string
  /** The last checkpoint that the run saved; null when it saved none, or when it was deleted. */
  readonly checkpoint_id: string | null
  /** Whether that checkpoint is the thread's newest. */
  readonly is_newest: boolean
}

/** A run with what is left of its state, read in one snapshot. */
export const findEndedRun = (db: Db, threadId: string, runId: string): Promise<EndedRun | undefined> =>
  db.row<EndedRun>(sql`
    select r.status, r.error, r.cancel_reason, t.values, t.interrupts, own.checkpoint_id,
      own.checkpoint_id is not distinct from newest.checkpoint_id as is_newest
    from runs r join threads t on t.thread_id = r.thread_id
      left join lateral (
        select c.checkpoint_id from checkpoints c
        where c.thread_id = r.thread_id::text and c.checkpoint_ns = '' and c.metadata ->> 'run_id' = r.run_id::text
          and not c.is_replay_only
        order by c.seq desc, c.checkpoint_id desc limit 1) own on true
      left join lateral (
        select c.checkpoint_id from checkpoints c
        where c.thread_id = r.thread_id::text and c.checkpoint_ns = '' and not c.is_replay_only
        order by c.seq desc, c.checkpoint_id desc limit 1) newest on true
    where r.thread_id = ${threadId} and r.run_id = ${runId}`)

/** The thread of a run. */
export const findThreadId = async (db: Db, runId: string): Promise<string | undefined> =>
  (await db.row<{ thread_id: string }>(sql`select thread_id from runs where run_id = ${runId}`))?.thread_id

const ofThreadThat = (filter: MetadataFilter | undefined): Sql =>
  filter === undefined
    ? sql``
    : sql` and exists (select from threads t where t.thread_id = runs.thread_id
        and ${matchesFilter(sql`t.searchable_metadata`, filter)})`

export interface RunQuery {
  readonly threadId: string
  readonly status: RunStatus | undefined
  /** What the metadata must contain. */
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  readonly limit: number
  readonly offset: number
  /** Whether to read these fields, which may be long. */
  readonly withMetadata: boolean
  readonly withKwargs: boolean
}

/**
 * Runs of a thread, newest first.
 * @param filter  what the thread's metadata must match for the caller to see it
 * @returns undefined when the caller sees no such thread
 */
export async function findRuns(
  db: Db,
  { threadId, status, metadata, limit, offset, withMetadata, withKwargs }: RunQuery,
  filter: MetadataFilter | undefined,
): Promise<RunRow[] | undefined> {
  // One statement (threads/README, T7).
  const rows = await db.rows<RunRow | { readonly run_id: null }>(sql`
    select found.* from threads t left join lateral (
      select run_id, thread_id, assistant_id, status, attempt, ${withMetadata ? sql`metadata` : sql`'{}'::json as metadata`},
        ${withKwargs ? sql`kwargs` : sql`'{}'::json as kwargs`}, error, multitask_strategy, is_resumable, cancel_reason,
        input_saved, ${createdBy(sql`runs`)} as created_by, created_at, updated_at, seq
      from runs where thread_id = ${threadId} ${status === undefined ? sql`` : sql`and status = ${status}`}
        ${metadata === undefined ? sql`` : sql`and searchable(metadata) @> searchable(${toJsonText(metadata)}::json)`}
      order by seq desc limit ${limit} offset ${offset}) found on true
    where t.thread_id = ${threadId} and ${matchesFilter(sql`t.searchable_metadata`, filter)}
    order by found.seq desc`)
  return rows.length === 0 ? undefined : rows.filter((row): row is RunRow => row.run_id !== null)
}

/** Runs with these statuses, or the named runs of a thread; only on threads that match the filter. */
export const findRunsToStop = (
  db: Db,
  wanted:
    | { readonly statuses: readonly RunStatus[] }
    | { readonly threadId: string; readonly runIds: readonly string[] },
  filter: MetadataFilter | undefined,
): Promise<{ thread_id: string; run_id: string }[]> =>
  db.rows(sql`
    select thread_id, run_id from runs
    where ${
      "runIds" in wanted
        ? sql`thread_id = ${wanted.threadId} and run_id = any (${wanted.runIds}::uuid[])`
        : sql`status = any (${wanted.statuses})`
    }${ofThreadThat(filter)}
    order by seq`)

/** Whether anything that a run has saved is still there after the next input. */
export const hasAppliedInput = async (db: Db, threadId: string, runId: string): Promise<boolean> => {
  const row = await db.row<{ saved: boolean }>(sql`select has_applied_input(${threadId}, ${runId}) as saved`)
  return row?.saved === true
}

/** Those of these runs whose input is not in their thread. */
export const findUnsavedInputs = async (db: Db, runIds: readonly string[]): Promise<string[]> => {
  const rows = await db.rows<{ run_id: string }>(
    sql`select run_id from runs where run_id = any (${runIds}::uuid[]) and input_saved = false`,
  )
  return rows.map(({ run_id }) => run_id)
}

export interface NewRun {
  readonly runId: string
  readonly threadId: string
  /** Whether the thread must exist, may be created, or is created for this run alone. */
  readonly threadRule: "must_exist" | "create_if_missing" | "ephemeral"
  /** JSON text: the metadata of a thread that is created. */
  readonly threadMetadata: string
  readonly assistantId: string
  readonly graphId: string
  readonly metadata: string
  readonly kwargs: string
  readonly multitaskStrategy: MultitaskStrategy
  readonly isResumable: boolean
  readonly deleteThreadOnCompletion: boolean
  readonly afterSeconds: number
  readonly serverId: string
  readonly revisionId: string | null
  /** Whether this server has a free slot, so that the run need not wait in the queue. */
  readonly canExecute: boolean
  /** Whether a client of this server gets its events from the first one on. */
  readonly isStreamed: boolean
  readonly leaseMs: number
  /** JSON text: what the graph gets about the caller. */
  readonly caller: string | null
  readonly webhook: string | null
  /** What it was planned from. */
  readonly known: KnownFacts
  /** How many runs may wait on the thread; 0: no limit. */
  readonly mostWaiting: number
  /** Set when clients of the newer streaming protocol follow its thread from now on. */
  readonly following?: ProtocolFollowing | undefined
}

/** With the metadata and config of the thread: `{}` when it does not exist. */
export interface KnownFacts extends ThreadTexts {
  /** The stamp of the assistant; absent when that has no row. */
  readonly assistant?: string | undefined
}

export interface ProtocolFollowing {
  /** For how long, in milliseconds. */
  readonly forMs: number
  /** Logged with the run when it is claimed at once. */
  readonly firstEvents: readonly Pick<NewEvent, "seq" | "event" | "data">[]
}

export interface CreatedRun {
  /** `stale`: what the run was planned from has changed. Nothing was changed, as with every outcome but `created`. */
  readonly outcome: "created" | "stale" | "no_thread" | "thread_busy" | "thread_full"
  /** This server's claim, when the run starts at once. */
  readonly claim_id: string | null
  readonly has_checkpoint: boolean
  /** Waiting runs that the multitask strategy ended. */
  readonly stopped: readonly string[]
  /** The running run that the multitask strategy asked to stop. */
  readonly stopping: StoppingRun | null
  /** The run that can start now or later, and was not claimed. */
  readonly waiting: WaitingRun | null
  readonly created_at: Date
  /** For how much longer its thread is followed, in milliseconds, and the same for clients of the newer streaming protocol. */
  readonly followed_ms: number | null
  readonly protocol_ms: number | null
  /** With `following`: the place of the thread's last event before the run, -1 for none. */
  readonly place_before?: number | null
  /** The places of the first events, when they were logged with the run. */
  readonly places?: readonly string[] | null
}

/** Compares what the run was planned from, inserts it, applies the multitask strategy and claims it if it can start: one round trip. */
export const beginRun = async (db: Db, run: NewRun): Promise<CreatedRun> => {
  const { serverId, revisionId, leaseMs, canExecute, following } = run
  const claimer = toJsonText({ serverId, revisionId, leaseMs, canExecute })
  const row = await db.row<CreatedRun>(sql`
    select * from begin_run(${run.runId}, ${run.threadId}, ${run.threadRule}, ${run.threadMetadata}, ${run.assistantId},
      ${run.graphId}, ${run.metadata}, ${run.kwargs}, ${run.multitaskStrategy}, ${run.isResumable},
      ${run.deleteThreadOnCompletion}, ${run.afterSeconds}, ${run.isStreamed}, ${run.caller}, ${run.webhook}, ${claimer},
      ${toJsonText(run.known)}, ${run.mostWaiting}, ${following?.forMs ?? null},
      ${following ? toJsonText(following.firstEvents) : null})`)
  if (!row) throw new Error("begin_run returned nothing")
  return row
}

export interface StoppedRun {
  /** `stopping`: the run executes, and its server must be notified. */
  readonly outcome: "none" | "over" | "stopped" | "stopping"
  readonly stopping: StoppingRun | null
  /** The run of its thread that can start now. */
  readonly waiting: WaitingRun | null
}

/** Ends a waiting run at once and records a stop request for a running one. */
export const stopRun = async (
  db: Db,
  { threadId, runId, action, reason }: { threadId: string; runId: string; action: CancelAction; reason: string },
): Promise<StoppedRun> => {
  const row = await db.row<StoppedRun>(sql`select * from stop_run(${threadId}, ${runId}, ${action}, ${reason})`)
  if (!row) throw new Error("stop_run returned nothing")
  return row
}

/**
 * Records that a server has clients of a run that executes on another server.
 * @returns the run's status after that; undefined when it is gone
 */
export const watchRun = async (db: Db, runId: string, serverId: string): Promise<RunStatus | undefined> => {
  const row = await db.row<{ status: RunStatus | null }>(sql`select watch_run(${runId}, ${serverId}) as status`)
  return row?.status ?? undefined
}

/** The run that can start now on this run's thread. */
export const findStartableRun = async (db: Db, runId: string): Promise<WaitingRun | undefined> => {
  const row = await db.row<{ waiting: WaitingRun | null }>(
    sql`select startable_run(thread_id) as waiting from runs where run_id = ${runId}`,
  )
  return row?.waiting ?? undefined
}

/**
 * Removes a run that is over, with its checkpoints.
 * @returns user: the waiting or running run that starts from one of them, when the outcome is `in_use`
 */
export const deleteRun = async (db: Db, threadId: string, runId: string) => {
  const row = await db.row<{ outcome: "none" | "in_use" | "in_flight" | "deleted"; user: string | null }>(sql`
    select outcome, case outcome when 'in_use' then run_starting_from(${threadId}, ${runId}) end as "user"
    from delete_run(${threadId}, ${runId}) as outcome`)
  if (!row) throw new Error("delete_run returned nothing")
  return row
}

/**
 * Whether a caller may see a thread.
 * @param orNew  whether a thread that this transaction created counts as visible, whatever its metadata
 */
export const isThreadVisible = async (
  db: Db,
  threadId: string,
  filter: MetadataFilter | undefined,
  { orNew }: { orNew: boolean } = { orNew: false },
): Promise<boolean> => {
  const row = await db.row<{ found: boolean }>(sql`
    select exists (select from threads where thread_id = ${threadId}
      and (${matchesFilter(sql`searchable_metadata`, filter)} ${orNew ? sql`or created_at = now()` : sql``})) as found`)
  return row?.found ?? false
}

/** Writes what is left of a thread's state, if the thread has not changed since `version`. */
export const showState = (
  db: Db,
  threadId: string,
  state: { version: string; values: string | null; interrupts: string; status: "idle" | "interrupted" },
): Promise<number> => {
  const isAtRest = sql`${state.status === "idle"}::boolean`
  return db.run(sql`
    update threads set values = ${state.values}, interrupts = ${state.interrupts}, status = ${state.status}, error = null,
      updated_at = now(), state_updated_at = now(),
      revision_id = case when is_pinned_until_rest and ${isAtRest} then null else revision_id end,
      is_pinned_until_rest = is_pinned_until_rest and not ${isAtRest}
    where thread_id = ${threadId} and xmin::text = ${state.version}`)
}

/** How far a sweep of ended runs is: the last run that it read. The time is Postgres' own text, to the microsecond. */
export interface SweptUntil {
  readonly updatedAt: string
  readonly runId: string
}

export const beforeAllRuns: SweptUntil = { updatedAt: "-infinity", runId: "00000000-0000-0000-0000-000000000000" }

/**
 * Reads runs that ended some time ago, oldest first, and deletes them, except the newest run of each thread: its configuration
 * is needed to read the thread's state with its graph. Checkpoints stay. One server at a time does this.
 * @param limit  how many runs to read
 * @returns where to continue; undefined when all were read, or another server is sweeping
 */
export const deleteEndedRuns = (
  db: Db,
  { keepDays, after, limit }: { keepDays: number; after: SweptUntil; limit: number },
): Promise<SweptUntil | undefined> =>
  db.row(sql`
    with turn as materialized (select pg_try_advisory_xact_lock(hashtext('superstep: sweep runs')) as is_ours),
    page as materialized (
      select ctid, run_id, thread_id, seq, updated_at from runs
      where (select is_ours from turn) and status not in ('pending', 'running')
        and updated_at < now() - make_interval(days => ${keepDays})
        and (updated_at, run_id) > (${after.updatedAt}::timestamptz, ${after.runId}::uuid)
      order by updated_at, run_id limit ${limit}),
    deleted as (
      delete from runs where ctid = any (array(
        select p.ctid from page p
        where exists (select from runs n where n.thread_id = p.thread_id and n.seq > p.seq))))
    select updated_at::text as "updatedAt", run_id as "runId" from page
    where (select count(*) from page) = ${limit}
    order by updated_at desc, run_id desc limit 1`)
