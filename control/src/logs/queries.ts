/** The table `log_lines`. An id is a line's stable name, its order and its cursor. */
import type { Db } from "@superstep/toolkit/db/database"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import type { LogLevel, LogStream } from "./log-line.js"

export interface LogRow {
  readonly log_line_id: number
  readonly revision_id: string
  readonly at: Date
  readonly level: LogLevel
  readonly message: string
}

export interface InsertedLine {
  readonly message: string
  readonly level: LogLevel
  readonly at: Date | null
}

/** Adds lines in their order. One process writes a revision's lines, so ids rise as they are committed. */
export const insertLogLines = (
  db: Db,
  revisionId: string,
  stream: LogStream,
  lines: readonly InsertedLine[],
): Promise<number> =>
  db.run(sql`
    insert into log_lines (revision_id, stream, at, level, message)
    select ${revisionId}, ${stream}, coalesce(at, now()), level, message
    from unnest(
      ${lines.map(({ at }) => at)}::timestamptz[], ${lines.map(({ level }) => level)}::text[],
      ${lines.map(({ message }) => message)}::text[]
    ) with ordinality as given (at, level, message, place)
    order by place`)

export interface LogFilter {
  readonly workspaceId: string
  readonly deploymentId: string
  /** All revisions of the deployment when absent. */
  readonly revisionId?: string | undefined
  readonly stream: LogStream
  readonly order: "asc" | "desc"
  readonly limit: number
  /** The last line that the reader has: only what comes after it in this order. */
  readonly after?: number | undefined
  readonly startTime?: Date | undefined
  readonly endTime?: Date | undefined
  readonly level?: LogLevel | undefined
  /** Any part of the message, in any case. */
  readonly query?: string | undefined
}

export function findLogLines(db: Db, filter: LogFilter): Promise<LogRow[]> {
  const descending = filter.order === "desc"
  const where: Sql[] = [
    sql`d.workspace_id = ${filter.workspaceId}`,
    sql`d.deployment_id = ${filter.deploymentId}`,
    sql`l.stream = ${filter.stream}`,
  ]
  if (filter.revisionId) where.push(sql`l.revision_id = ${filter.revisionId}`)
  if (filter.after !== undefined) {
    where.push(descending ? sql`l.log_line_id < ${filter.after}` : sql`l.log_line_id > ${filter.after}`)
  }
  // Readers see milliseconds, the table has microseconds: both ends include what shares their millisecond.
  if (filter.startTime) where.push(sql`l.at >= ${filter.startTime}`)
  if (filter.endTime) where.push(sql`l.at < ${filter.endTime}::timestamptz + interval '1 millisecond'`)
  if (filter.level) where.push(sql`l.level = ${filter.level}`)
  if (filter.query) where.push(sql`position(lower(${filter.query}) in lower(l.message)) > 0`)
  return db.rows(sql`
    select l.log_line_id, l.revision_id, l.at, l.level, l.message
    from log_lines l join revisions r using (revision_id) join deployments d using (deployment_id)
    where ${joinSql(where, " and ")}
    order by l.log_line_id ${descending ? sql`desc` : sql`asc`}
    limit ${filter.limit}`)
}

/** The newest lines of one stream, oldest first. */
export const lastLines = (db: Db, revisionId: string, stream: LogStream, count: number): Promise<LogRow[]> =>
  db.rows(sql`
    select * from (
      select log_line_id, revision_id, at, level, message from log_lines
      where revision_id = ${revisionId} and stream = ${stream}
      order by log_line_id desc limit ${count}
    ) newest order by log_line_id`)
