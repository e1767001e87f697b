/** Stores what builds and units say, and gives it back page by page. */
import type { Db } from "@superstep/toolkit/db/database"
import { cleanLine, hideSecrets, type LogStream, type NewLogLine } from "./log-line.js"
import { findLogLines, insertLogLines, type LogFilter, type LogRow, lastLines } from "./queries.js"

/**
 * Adds lines to a revision's log in their order (G1), cleaned of secrets, terminal codes and excess (G2).
 * @param secrets  clear values that must not be stored, such as those of `secretsOfRevision`
 */
export async function appendLogLines(
  db: Db,
  revisionId: string,
  stream: LogStream,
  lines: readonly (NewLogLine | string)[],
  { secrets = [] }: { secrets?: readonly string[] } = {},
): Promise<void> {
  if (lines.length === 0) return
  const hide = hideSecrets(secrets)
  const cleaned = lines.map((line) => {
    const { message, level = "INFO", at = null } = typeof line === "string" ? { message: line } : line
    return { message: cleanLine(message, hide), level, at }
  })
  await insertLogLines(db, revisionId, stream, cleaned)
}

/** The newest lines of a revision's stream, oldest first: what a failure shows. */
export const lastLogLines = (db: Db, revisionId: string, stream: LogStream, count = 30): Promise<LogRow[]> =>
  lastLines(db, revisionId, stream, count)

export interface LogPage {
  readonly rows: readonly LogRow[]
  /** After the last line of this page; null when there is nothing to go on from. */
  readonly nextOffset: string | null
}

/**
 * One page of a log. Upwards the offset stays good for lines that are yet to come, so following is asking again
 * with it; an empty page has none, and the reader keeps the one it had (control-plane §1.4, "Logs v1").
 */
export async function readLog(db: Db, filter: LogFilter): Promise<LogPage> {
  const rows = await findLogLines(db, filter)
  const last = rows.at(-1)
  const ended = filter.order === "desc" && rows.length < filter.limit
  return { rows, nextOffset: last && !ended ? String(last.log_line_id) : null }
}
