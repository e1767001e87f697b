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

/** The clock by which crons are due: that of the database, since servers' own may differ. */
export const databaseNow = async (db: Db): Promise<Date> => {
  const row = await db.row<{ now: Date }>(sql`select now() as now`)
  if (!row) throw new Error("the database told no time")
  return row.now
}

export interface NewCron extends Omit<CronRow, "created_at" | "updated_at" | "disabled_reason"> {
  /** JSON text of the user; null where there are no access rules. */
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

/** As `findCron`; nobody changes or fires it until the transaction ends. */
export const lockCron = (tx: Db, cronId: string, filter: MetadataFilter | undefined): Promise<CronRow | undefined> =>
  tx.row(sql`select ${columns} from crons where cron_id = ${cronId} and ${isSeen(filter)} for update`)

/** Writes what a person may change. */
export const updateCron = (tx: Db, cron: CronRow): Promise<CronRow | undefined> =>
  tx.row(sql`
    update crons set schedule = ${cron.schedule}, timezone = ${cron.timezone}, end_time = ${cron.end_time},
      enabled = ${cron.enabled}, disabled_reason = ${cron.disabled_reason}, on_run_completed = ${cron.on_run_completed},
      payload = ${cron.payload}, metadata = ${cron.metadata}, next_run_date = ${cron.next_run_date}, updated_at = now()
    where cron_id = ${cron.cron_id} returning ${columns}`)

export const deleteCron = async (db: Db, cronId: string, filter: MetadataFilter | undefined): Promise<boolean> =>
  (await db.run(sql`delete from crons where cron_id = ${cronId} and ${isSeen(filter)}`)) === 1

export interface CronConditions {
  readonly assistantId: string | undefined
  readonly threadId: string | undefined
  readonly enabled: boolean | undefined
  /** JSON text of an object: each of its keys is there with this very value. */
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
  /** JSON text of the user who created it; null where there were no access rules. */
  readonly created_by: string | null
  /** The due time as Postgres writes it, to the microsecond: only who still finds it there fires. */
  readonly due: string
  readonly now: Date
  /** It ended while nobody could fire it. */
  readonly is_over: boolean
}

/** Due crons, the longest due first; none unless servers of this revision may execute runs (CR3). */
export const findDueCrons = (
  db: Db,
  revisionId: string | null,
  { limit, except }: { limit: number; except: readonly string[] },
): Promise<DueCron[]> =>
  db.rows(sql`
    select ${columns}, created_by, next_run_date::text as due, now() as now,
      coalesce(end_time < now() - interval '1 minute', false) as is_over
    from crons where next_run_date <= now() and may_claim(${revisionId}) and cron_id <> all (${except}::uuid[])
    order by next_run_date limit ${limit}`)

/** When the next cron is due, in milliseconds from now; undefined when none waits, or none for this revision. */
export const nextDueMs = async (db: Db, revisionId: string | null): Promise<number | undefined> => {
  const row = await db.row<{ due: number | null }>(sql`
    select extract(epoch from min(next_run_date) - now())::float8 * 1000 as due from crons
    where next_run_date is not null and may_claim(${revisionId})`)
  return row?.due ?? undefined
}

interface Firing {
  readonly cronId: string
  readonly due: string
  readonly next: Date | null
  readonly revisionId: string | null
}

/**
 * Takes a due time, and sets the next one. A second server that tries waits for the first, and finds it taken (CR1).
 * @returns whether it was still there to take
 */
export const takeDueTime = async (tx: Db, { cronId, due, next, revisionId }: Firing): Promise<boolean> =>
  (await tx.run(sql`
    update crons set next_run_date = ${next}
    where cron_id = ${cronId} and next_run_date = ${due}::timestamptz and may_claim(${revisionId})`)) === 1

/** What is left of the two that a cron needs. */
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
    update crons set enabled = false, next_run_date = null, disabled_reason = ${reason}, updated_at = now()
    where cron_id = ${cronId} and enabled`)
