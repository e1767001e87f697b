/** Statements on what people have answered to a thread's questions. `end_run` writes them (migrations/functions/runs.sql). */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Page } from "../http/pagination.js"

export interface AnswerRow {
  readonly run_id: string
  /** JSON text: the questions that were open, by the ids of their tasks. */
  readonly interrupts: string
  /** JSON text. */
  readonly resume: string
  readonly answered_at: Date
  readonly user_id: string | null
  /** JSON text; null for a caller with a key. */
  readonly person: string | null
  readonly status: string
}

// A question or an answer may be as large as a graph's state, so a page is bounded in bytes too, and contains at least one answer.
const maxPageBytes = 1024 * 1024

/** @returns a page of the answers, the newest first, and how many there are */
export async function findAnswers(
  db: Db,
  threadId: string,
  { limit, offset }: Page,
): Promise<{ readonly answers: AnswerRow[]; readonly total: number }> {
  const answers = await db.rows<AnswerRow>(sql`
    select run_id, interrupts::text as interrupts, resume::text as resume, answered_at, user_id, status,
      (select act.person::text from person_acts act where act.run_id = page.run_id) as person
    from (
      select *, sum(size) over (order by run_id desc) - size as bytes_before from (
        select *, octet_length(interrupts::text) + octet_length(resume::text) as size
        from thread_answers where thread_id = ${threadId} order by run_id desc limit ${limit} offset ${offset}) sized) page
    where bytes_before < ${maxPageBytes} order by run_id desc`)
  const row = await db.row<{ total: number }>(sql`
    select count(*)::int as total from thread_answers where thread_id = ${threadId}`)
  return { answers, total: row?.total ?? 0 }
}

/** @returns the runs that brought the answers of a thread; an answer never changes */
export async function findAnsweringRuns(tx: Db, threadId: string): Promise<string[]> {
  const rows = await tx.rows<{ run_id: string }>(sql`select run_id from thread_answers where thread_id = ${threadId}`)
  return rows.map(({ run_id }) => run_id)
}

/** Copies the answers that some runs brought. */
export const copyAnswers = (tx: Db, from: string, to: string, runIds: readonly string[]): Promise<number> =>
  tx.run(sql`
    insert into thread_answers (thread_id, run_id, interrupts, resume, answered_at, user_id, status)
    select ${to}::uuid, run_id, interrupts, resume, answered_at, user_id, status
    from thread_answers where thread_id = ${from} and run_id = any (${runIds}::uuid[])`)
