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

/** @returns a page of the answers, the newest first, and how many there are */
export async function findAnswers(
  db: Db,
  threadId: string,
  { limit, offset }: Page,
): Promise<{ readonly answers: AnswerRow[]; readonly total: number }> {
  const answers = await db.rows<AnswerRow>(sql`
    select run_id, interrupts::text as interrupts, resume::text as resume, answered_at, user_id, status,
      (select act.person::text from person_acts act where act.run_id = thread_answers.run_id) as person
    from thread_answers where thread_id = ${threadId} order by run_id desc limit ${limit} offset ${offset}`)
  const row = await db.row<{ total: number }>(sql`
    select count(*)::int as total from thread_answers where thread_id = ${threadId}`)
  return { answers, total: row?.total ?? 0 }
}

export const copyAnswers = (tx: Db, from: string, to: string): Promise<number> =>
  tx.run(sql`
    insert into thread_answers (thread_id, run_id, interrupts, resume, answered_at, user_id, status)
    select ${to}::uuid, run_id, interrupts, resume, answered_at, user_id, status
    from thread_answers where thread_id = ${from}`)
