/** Stores the output of builds and units, and returns it page by page. */
import type { Db } from "@superstep/toolkit/db/database"
import { cleanLines } from "@superstep/toolkit/text/clean-lines"
import { hideSecrets } from "@superstep/toolkit/text/hide-secrets"
import { cursorAfter, lineOfCursor } from "./cursor.js"
import type { LogStream, NewLogLine } from "./log-line.js"
import { findLogLines, insertLogLines, type LogFilter, type LogRow, lastLines } from "./queries.js"

/**
 * Adds lines to a revision's log in their order (G1), cleaned of secrets, terminal codes and excess (G2).
 * @param hide  removes secrets from a text, such as `hideSecrets` with the result of `secretsOfRevision`
 * @returns     the bytes that the deployment's logs use now; undefined when the revision is gone
 */
export async function appendLogLines(
  db: Db,
  revisionId: string,
  stream: LogStream,
  lines: readonly (NewLogLine | string)[],
  { hide = hideSecrets([]) }: { hide?: (text: string) => string } = {},
): Promise<number | undefined> {
  if (lines.length === 0) return undefined
  const given = lines.map((line): NewLogLine => (typeof line === "string" ? { message: line } : line))
  const messages = cleanLines(
    given.map(({ message }) => message),
    hide,
  )
  const rows = messages.map((message, index) => {
    const { level = "INFO", at = null, runId = null, threadId = null, isPlatform = false } = given[index] ?? {}
    return { message, level, at, runId, threadId, isPlatform }
  })
  return insertLogLines(db, revisionId, stream, rows)
}

/** The newest lines of a revision's stream, oldest first: shown with a failure. */
export const lastLogLines = (db: Db, revisionId: string, stream: LogStream, count = 30): Promise<LogRow[]> =>
  lastLines(db, revisionId, stream, count)

export interface AskedLog extends Omit<LogFilter, "after"> {
  /** A cursor from an earlier page, and the parameter that carried it. */
  readonly cursor?: { readonly text: string; readonly path: readonly string[] } | undefined
}

export interface LogPage {
  readonly rows: readonly LogRow[]
  /** Points after the last line of this page; null when there is no further page. */
  readonly nextCursor: string | null
}

/**
 * One page of a log. In ascending order the cursor also serves for lines that do not exist yet: to follow a log, repeat the
 * request with it, also after an empty page. In descending order an empty page is the end (control-plane §1.4, "Logs v1").
 * @throws InvalidInput  the cursor is another log's, or invalid
 */
export async function readLog(db: Db, { cursor, ...asked }: AskedLog): Promise<LogPage> {
  const after = cursor && lineOfCursor(asked, cursor.text, cursor.path)
  const rows = await findLogLines(db, { ...asked, after })
  const last = rows.at(-1)
  if (last) return { rows, nextCursor: cursorAfter(asked, last.log_line_id) }
  return { rows, nextCursor: (asked.order === "asc" && cursor?.text) || null }
}
