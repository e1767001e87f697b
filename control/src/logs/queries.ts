/** The tables `log_lines` and `log_books`. A line's id is stable and gives its order in its deployment. */

import type { Db } from "@superstep/toolkit/db/database"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import type { StorableText } from "@superstep/toolkit/text/storable"
import type { LogScope } from "./cursor.js"
import type { LogLevel, LogStream } from "./log-line.js"

/** The payload is the id of the deployment that has new lines. */
export const logsChannel = "superstep_logs"

export interface LogRow {
  readonly log_line_id: number
  readonly revision_id: string
  readonly stream: LogStream
  /** ISO with microseconds: no two lines of a log have the same. */
  readonly time: string
  readonly level: LogLevel
  readonly message: string
  readonly run_id: string | null
  readonly thread_id: string | null
  /** Superstep wrote it, not the code of the deployment. */
  readonly is_platform: boolean
}

export interface InsertedLine {
  readonly message: StorableText
  readonly level: LogLevel
  readonly at: Date | null
  readonly runId: string | null
  readonly threadId: string | null
  readonly isPlatform: boolean
}

/** @returns  the bytes that the deployment's logs use now; undefined when the revision is gone */
export const insertLogLines = async (
  db: Db,
  revisionId: string,
  stream: LogStream,
  lines: readonly InsertedLine[],
): Promise<number | undefined> => {
  const row = await db.row<{ bytes: number | null }>(sql`
    select append_log_lines(${revisionId}, ${stream}, ${lines.map(({ at }) => at)}::timestamptz[],
      ${lines.map(({ level }) => level)}::text[], ${lines.map(({ message }) => message)}::text[],
      ${lines.map(({ runId }) => runId)}::uuid[], ${lines.map(({ threadId }) => threadId)}::uuid[],
      ${lines.map(({ isPlatform }) => isPlatform)}::boolean[]) as bytes`)
  return row?.bytes ?? undefined
}

/** Selects lines of a log. */
export interface LineFilter extends LogScope {
  readonly level?: LogLevel | undefined
  /** Any part of the message, ignoring case. */
  readonly query?: string | undefined
  readonly runId?: string | undefined
  /** Without what Superstep itself wrote, except for warnings and errors. */
  readonly hidesPlatform?: boolean | undefined
}

export interface LogFilter extends LineFilter {
  readonly workspaceId: string
  readonly order: "asc" | "desc"
  readonly limit: number
  /** The last line that the reader has: only lines after it in this order. */
  readonly after?: number | undefined
  /** ISO, with microseconds. */
  readonly startTime?: string | undefined
  readonly endTime?: string | undefined
}

const columns = sql`l.log_line_id, l.revision_id, l.stream, l.level, l.message, l.run_id, l.thread_id, l.is_platform,
  to_char(l.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time`

export function findLogLines(db: Db, filter: LogFilter): Promise<LogRow[]> {
  // Each stream by its own index, so that a page is read directly and not sorted out of all lines.
  const streams: readonly LogStream[] = filter.stream ? [filter.stream] : ["build", "deploy"]
  const pages = streams.map((stream) => sql`(${pageOf(filter, stream)})`)
  return db.rows(sql`
    select ${columns} from (${joinSql(pages, " union all ")}) l
    order by l.log_line_id ${direction(filter)} limit ${filter.limit}`)
}

const direction = ({ order }: LogFilter): Sql => (order === "desc" ? sql`desc` : sql`asc`)

const pageOf = (filter: LogFilter, stream: LogStream): Sql => sql`
  select l.* from log_lines l join deployments d using (deployment_id)
  where ${joinSql(conditions(filter, stream), " and ")}
  order by l.log_line_id ${direction(filter)} limit ${filter.limit}`

function conditions(filter: LogFilter, stream: LogStream): Sql[] {
  const where: Sql[] = [
    sql`d.workspace_id = ${filter.workspaceId}`,
    sql`l.deployment_id = ${filter.deploymentId}`,
    sql`l.stream = ${stream}`,
  ]
  if (filter.revisionId) where.push(sql`l.revision_id = ${filter.revisionId}`)
  if (filter.after !== undefined) {
    where.push(filter.order === "desc" ? sql`l.log_line_id < ${filter.after}` : sql`l.log_line_id > ${filter.after}`)
  }
  if (filter.startTime) where.push(sql`l.at >= ${filter.startTime}`)
  // A time in milliseconds includes all lines within that millisecond.
  if (filter.endTime) where.push(sql`l.at < ${filter.endTime}::timestamptz + interval '1 millisecond'`)
  if (filter.level) where.push(sql`l.level = ${filter.level}`)
  if (filter.query) where.push(sql`position(lower(${filter.query}) in lower(l.message)) > 0`)
  if (filter.runId) where.push(sql`l.run_id = ${filter.runId}`)
  if (filter.hidesPlatform) where.push(sql`not (l.is_platform and l.level in ('DEBUG', 'INFO'))`)
  return where
}

/** A deployment's lines after the given one, of all streams and revisions, oldest first. */
export function linesAfter(
  db: Db,
  deploymentId: string,
  { after, limit }: { after: number; limit: number },
): Promise<LogRow[]> {
  const of = (stream: LogStream) => sql`
    (select * from log_lines where deployment_id = ${deploymentId} and stream = ${stream} and log_line_id > ${after}
      order by log_line_id limit ${limit})`
  return db.rows(sql`
    select ${columns} from (${of("build")} union all ${of("deploy")}) l order by l.log_line_id limit ${limit}`)
}

/** The newest lines of one stream, oldest first. */
export const lastLines = (db: Db, revisionId: string, stream: LogStream, count: number): Promise<LogRow[]> =>
  db.rows(sql`
    select * from (
      select ${columns} from log_lines l
      where l.revision_id = ${revisionId} and l.stream = ${stream}
      order by l.log_line_id desc limit ${count}
    ) newest order by log_line_id`)

/** The id of a deployment's newest line; 0 when it has none. */
export const newestLine = async (db: Db, deploymentId: string): Promise<number> => {
  const row = await db.row<{ id: number | null }>(sql`
    select greatest(
      (select max(log_line_id) from log_lines where deployment_id = ${deploymentId} and stream = 'build'),
      (select max(log_line_id) from log_lines where deployment_id = ${deploymentId} and stream = 'deploy')) as id`)
  return row?.id ?? 0
}

export interface LogBook {
  readonly deployment_id: string
  readonly workspace_id: string
  readonly stream: LogStream
  readonly bytes: number
}

/** The largest first. */
export const booksOf = (db: Db, deploymentId: string): Promise<LogBook[]> =>
  db.rows(sql`
    select b.deployment_id, d.workspace_id, b.stream, b.bytes from log_books b join deployments d using (deployment_id)
    where b.deployment_id = ${deploymentId} order by b.bytes desc, b.stream`)

export const allBooks = (db: Db): Promise<Pick<LogBook, "deployment_id" | "stream">[]> =>
  db.rows(sql`select deployment_id, stream from log_books where bytes > 0`)

// Large enough for progress, small enough to block nobody.
const batchLines = 2000

/**
 * Deletes the oldest lines of a stream, at most one batch. Times rise with ids, so the oldest come first by either.
 * @param olderThanDays  only older lines; without it any line, and the book counts them as dropped
 * @returns              how many were deleted
 */
export async function removeOldestLines(
  db: Db,
  { deployment_id: deploymentId, stream }: Pick<LogBook, "deployment_id" | "stream">,
  { olderThanDays }: { olderThanDays?: number } = {},
): Promise<number> {
  const isOld = olderThanDays === undefined ? sql`true` : sql`o.at < now() - ${olderThanDays} * interval '1 day'`
  const dropped = olderThanDays === undefined ? sql`gone.lines` : sql`0`
  const row = await db.row<{ lines: number }>(sql`
    with oldest as (
      select log_line_id, at from log_lines where deployment_id = ${deploymentId} and stream = ${stream}
      order by log_line_id limit ${batchLines} for update skip locked
    ), removed as (
      delete from log_lines l using oldest o where l.log_line_id = o.log_line_id and ${isOld}
      returning l.log_line_id, log_line_bytes(l.message) as bytes
    ), gone as (
      select count(*) as lines, coalesce(sum(bytes), 0) as bytes from removed
    ), unsent as (
      -- Tells the operator that a sink was away for too long; there is no row while there never was a sink.
      update log_forwarding set lost_lines = lost_lines + lost.lines
      from (select count(*) as lines from removed where log_line_id > forwarded_line(${deploymentId})) lost
      where is_on and lost.lines > 0
    )
    update log_books b set bytes = greatest(0, b.bytes - gone.bytes), dropped_lines = b.dropped_lines + ${dropped}
    from gone where b.deployment_id = ${deploymentId} and b.stream = ${stream}
    returning gone.lines`)
  return row?.lines ?? 0
}

/** Prevents the deletion of a revision's row until the transaction ends. */
export const holdRevision = (tx: Db, revisionId: string): Promise<number> =>
  tx.run(sql`select 1 from revisions where revision_id = ${revisionId} for key share`)

/** Returns the number of lines that were dropped and not yet reported, and resets it. */
export const takeDroppedLines = async (tx: Db, { deployment_id, stream }: LogBook): Promise<number> => {
  const row = await tx.row<{ dropped: number }>(sql`
    update log_books b set dropped_lines = 0
    from (select dropped_lines from log_books where deployment_id = ${deployment_id} and stream = ${stream} for update) before
    where b.deployment_id = ${deployment_id} and b.stream = ${stream} and before.dropped_lines > 0
    returning before.dropped_lines as dropped`)
  return row?.dropped ?? 0
}

/** As the trigger of a new deployment does. */
export const openLogBooks = (tx: Db, deploymentId: string): Promise<number> =>
  tx.run(sql`
    insert into log_books (deployment_id, stream) select ${deploymentId}::uuid, unnest(array['build', 'deploy'])`)
