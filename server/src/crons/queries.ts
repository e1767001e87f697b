/** Statements on crons. The rules (CR1 …) are in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { identifier, joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"
import type { Page } from "../http/pagination.js"
import type { CronRow } from "./cron.js"

const columns = sql`cron_id, assistant_id, thread_id, on_run_completed, end_time, schedule, timezone, created_at, updated_at,
  user_id, payload, metadata, next_run_date, enabled, disabled_reason`

const isSeen = (filter: MetadataFilter | undefined): Sql => matchesFilter(sql`searchable_metadata`, filter)

/** The database's clock, by which crons are due, since the servers' clocks may differ. */
export const databaseNow = async (db: Db): Promise<Date> => {
  const row = await db.row<{ now: Date }>(sql`select superstep_now() as now`)
  if (!row) throw new Error("the database returned no time")
  return row.now
}

export interface NewCron extends Omit<CronRow, "created_at" | "updated_at" | "disabled_reason"> {
  /** JSON text of the user; null without access rules. */
  readonly created_by: string | null
}

export const insertCron = async (db: Db, cron: NewCron): Promise<CronRow> => {
  const row = await db.row<CronRow>(sql`
    insert into crons (cron_id, assistant_id, thread_id, on_run_completed, end_time, schedule, timezone, user_id, created_by,
      payload, metadata, next_run_date, enabled)
    values (${cron.cron_id}, ${cron.assistant_id}, ${cron.thread_id}, ${cron.on_run_completed}, ${cron.end_time},
      ${cron.schedule}, ${cron.timezone}, ${cron.user_id}, ${cron.created_by}, ${cron.payload}, ${cron.metadata},
      ${cron.next_run_date}, ${cron.enabled})
    returning ${columns}`)
  if (!row) throw new Error("a cron was not inserted")
  return row
}

export const findCron = (db: Db, cronId: string, filter: MetadataFilter | undefined): Promise<CronRow | undefined> =>
  db.row(sql`select ${columns} from crons where cron_id = ${cronId} and ${isSeen(filter)}`)

/** Like `findCron`, and locks the cron until the transaction ends. */
export const lockCron = (tx: Db, cronId: string, filter: MetadataFilter | undefined): Promise<CronRow | undefined> =>
  tx.row(sql`select ${columns} from crons where cron_id = ${cronId} and ${isSeen(filter)} for update`)

/** Writes the fields that a client may change. A server that fires the cron at this moment finds another version. */
export const updateCron = (tx: Db, cron: CronRow): Promise<CronRow | undefined> =>
  tx.row(sql`
    update crons set schedule = ${cron.schedule}, timezone = ${cron.timezone}, end_time = ${cron.end_time},
      enabled = ${cron.enabled}, disabled_reason = ${cron.disabled_reason}, on_run_completed = ${cron.on_run_completed},
      payload = ${cron.payload}, metadata = ${cron.metadata}, next_run_date = ${cron.next_run_date}, taken_until = null,
      updated_at = superstep_now()
    where cron_id = ${cron.cron_id} returning ${columns}`)

/** @returns  what it was; undefined when the caller sees no such cron */
export const deleteCron = (
  db: Db,
  cronId: string,
  filter: MetadataFilter | undefined,
): Promise<Pick<CronRow, "schedule"> | undefined> =>
  db.row(sql`delete from crons where cron_id = ${cronId} and ${isSeen(filter)} returning schedule`)

export interface CronConditions {
  readonly assistantId: string | undefined
  readonly threadId: string | undefined
  readonly enabled: boolean | undefined
  /** JSON text of an object: the metadata must have each of its keys with exactly this value. */
  readonly metadata: string | undefined
  readonly filter: MetadataFilter | undefined
}

function matches({ assistantId, threadId, enabled, metadata, filter }: CronConditions): Sql {
  const conditions = [
    ...(assistantId === undefined ? [] : [sql`assistant_id = ${assistantId}`]),
    ...(threadId === undefined ? [] : [sql`thread_id = ${threadId}`]),
    ...(enabled === undefined ? [] : [sql`enabled = ${enabled}`]),
    ...(metadata === undefined ? [] : [hasMetadata(metadata)]),
    isSeen(filter),
  ]
  return joinSql(conditions, " and ")
}

// Containment uses the index, but also finds larger lists and objects: the second test does not.
const hasMetadata = (metadata: string): Sql => sql`(searchable_metadata @> searchable(${metadata})
  and not exists (select from jsonb_each(searchable(${metadata})) as wanted
    where searchable_metadata -> wanted.key is distinct from wanted.value))`

export interface CronOrder {
  readonly by: string
  readonly order: "asc" | "desc"
}

export const searchCrons = (
  db: Db,
  conditions: CronConditions,
  { by, order }: CronOrder,
  { limit, offset }: Page,
): Promise<CronRow[]> =>
  db.rows(sql`
    select ${columns} from crons where ${matches(conditions)}
    order by ${identifier(by)} ${order === "asc" ? sql`asc` : sql`desc`} nulls last, cron_id limit ${limit} offset ${offset}`)

export const countCrons = async (db: Db, conditions: CronConditions): Promise<number> => {
  const row = await db.row<{ n: number }>(sql`select count(*) as n from crons where ${matches(conditions)}`)
  return row?.n ?? 0
}

/** A cron that is due. */
export interface DueCron extends CronRow {
  /** JSON text of the user who created it; null without access rules. */
  readonly created_by: string | null
  /** The due time in Postgres' text form, to the microsecond: a server fires only while this value is unchanged. */
  readonly due: string
  /** The time of the last change by a client, in the same form: the run is made from the cron as it was then. */
  readonly version: string
  readonly now: Date
  /** Whether it ended while no server could fire it. */
  readonly is_over: boolean
}

const dueColumns = sql`${columns}, created_by, next_run_date::text as due, updated_at::text as version, superstep_now() as now,
  coalesce(end_time < superstep_now() - interval '1 minute', false) as is_over`

/**
 * Takes due crons to fire, the longest due first; none unless this revision is the active one (CR3). Other servers skip them for
 * `holdMs`, so that each cron is prepared by one server, and no server waits for another.
 * @param holdMs  longer than it usually takes to fire them, in milliseconds
 */
export const takeDueCrons = (
  db: Db,
  revisionId: string | null,
  { limit, except, holdMs }: { limit: number; except: readonly string[]; holdMs: number },
): Promise<DueCron[]> =>
  db.rows(sql`
    with due as (
      select cron_id from crons
      where next_run_date <= superstep_now() and (taken_until is null or taken_until < superstep_now()) and is_active(${revisionId})
        and cron_id <> all (${except}::uuid[])
      order by next_run_date limit ${limit} for update skip locked)
    update crons set taken_until = superstep_now() + make_interval(secs => ${holdMs} / 1000.0)
    where cron_id in (select cron_id from due)
    returning ${dueColumns}`)

/** A taken cron as it is now; undefined when it is no longer due at the same time, or when this revision is not the active one. */
export const findDueCron = (
  db: Db,
  revisionId: string | null,
  { cron_id, due }: DueCron,
): Promise<DueCron | undefined> =>
  db.row(sql`
    select ${dueColumns} from crons
    where cron_id = ${cron_id} and next_run_date = ${due}::timestamptz and is_active(${revisionId})`)

/** Releases a cron that could not be fired here, so that any server can take it. */
export const giveBackCron = (db: Db, { cron_id, due }: DueCron): Promise<number> =>
  db.run(sql`update crons set taken_until = null where cron_id = ${cron_id} and next_run_date = ${due}::timestamptz`)

/** When the next cron can be taken, in milliseconds from now; undefined when none waits, or this revision may fire none. */
export const nextDueMs = async (db: Db, revisionId: string | null): Promise<number | undefined> => {
  const row = await db.row<{ due: number | null }>(sql`
    select extract(epoch from least(
      (select next_run_date from crons
        where next_run_date is not null and (taken_until is null or taken_until < superstep_now()) order by next_run_date limit 1),
      (select taken_until from crons where next_run_date <= superstep_now() and taken_until >= superstep_now() order by next_run_date limit 1)
    ) - superstep_now())::float8 * 1000 as due
    where is_active(${revisionId})`)
  return row?.due ?? undefined
}

interface Firing {
  readonly cronId: string
  readonly due: string
  /** Undefined: whatever clients have changed. */
  readonly version: string | undefined
  readonly next: Date | null
  readonly revisionId: string | null
}

/**
 * Takes a due time, and sets the next one. A second server that tries waits for the first, and finds the time taken (CR1).
 * @returns whether the due time could be taken
 */
export const takeDueTime = async (tx: Db, { cronId, due, version, next, revisionId }: Firing): Promise<boolean> =>
  (await tx.run(sql`
    update crons set next_run_date = ${next}, taken_until = null
    where cron_id = ${cronId} and next_run_date = ${due}::timestamptz and is_active(${revisionId})
      and (${version ?? null}::timestamptz is null or updated_at = ${version ?? null}::timestamptz)`)) === 1

/** Whether a cron's assistant and thread still exist. */
export const findNeeds = async (db: Db, { assistant_id, thread_id }: CronRow) => {
  const row = await db.row<{ has_assistant: boolean; has_thread: boolean }>(sql`
    select exists (select from assistants where assistant_id = ${assistant_id}) as has_assistant,
      ${thread_id}::uuid is null or exists (select from threads where thread_id = ${thread_id}::uuid) as has_thread`)
  if (!row) throw new Error("a question without a table has an answer")
  return { hasAssistant: row.has_assistant, hasThread: row.has_thread }
}

/** Disables a cron that cannot fire any more. */
export const disableCron = (db: Db, cronId: string, reason: string): Promise<number> =>
  db.run(sql`
    update crons set enabled = false, next_run_date = null, disabled_reason = ${reason}, updated_at = superstep_now()
    where cron_id = ${cronId} and enabled`)
