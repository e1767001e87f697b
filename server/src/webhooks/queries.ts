/** Statements on deliveries. The rules (W1 …) are in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** A delivery that is to be tried. */
export interface Delivery {
  readonly run_id: string
  readonly thread_id: string
  readonly assistant_id: string
  readonly url: string
  readonly status: string
  readonly multitask_strategy: string
  readonly attempt: number
  /** JSON texts. */
  readonly metadata: string
  readonly kwargs: string
  readonly values: string | null
  readonly error: string | null
  readonly run_created_at: Date
  readonly run_started_at: Date | null
  readonly run_ended_at: Date
  /** This try, from 1. */
  readonly tries: number
}

/**
 * Takes deliveries that are due. The next time to try is set before the try, so that a server that dies in it has lost
 * nothing, and no other takes the same one meanwhile (W2).
 * @param holdMs  longer than a try can take
 */
export const takeDueDeliveries = (
  db: Db,
  { revisionId, limit, holdMs }: { revisionId: string | null; limit: number; holdMs: number },
): Promise<Delivery[]> =>
  db.rows(sql`
    with due as (
      select run_id from webhook_deliveries where next_try_at <= now() and may_claim(${revisionId})
      order by next_try_at limit ${limit} for update skip locked)
    update webhook_deliveries d set tries = d.tries + 1,
      next_try_at = now() + make_interval(secs => ${holdMs} / 1000.0), reply_status = null, reply = null, failure = null
    from due where d.run_id = due.run_id
    returning d.run_id, d.thread_id, d.assistant_id, d.url, d.status, d.multitask_strategy, d.attempt, d.metadata, d.kwargs,
      d.values, d.error, d.run_created_at, d.run_started_at, d.run_ended_at, d.tries`)

export interface TryResult {
  readonly runId: string
  readonly tries: number
  readonly state: "pending" | "delivered" | "dead"
  /** When to try again, in milliseconds from now; only while it is pending. */
  readonly againMs: number | undefined
  readonly replyStatus: number | undefined
  readonly reply: string | undefined
  readonly failure: string | undefined
}

/** Notes what came of a try, unless somebody has begun another one meanwhile. */
export const recordTry = (db: Db, result: TryResult): Promise<number> =>
  db.run(sql`
    update webhook_deliveries set state = ${result.state}, last_tried_at = now(),
      next_try_at = now() + make_interval(secs => ${result.againMs ?? null}::float8 / 1000.0),
      reply_status = ${result.replyStatus ?? null}, reply = ${result.reply ?? null}, failure = ${result.failure ?? null}
    where run_id = ${result.runId} and tries = ${result.tries} and state = 'pending'`)

/** When the next delivery is due, in milliseconds from now; undefined when none waits, or none for this revision. */
export const nextDeliveryMs = async (db: Db, revisionId: string | null): Promise<number | undefined> => {
  const row = await db.row<{ due: number | null }>(sql`
    select extract(epoch from min(next_try_at) - now())::float8 * 1000 as due from webhook_deliveries
    where next_try_at is not null and may_claim(${revisionId})`)
  return row?.due ?? undefined
}

/** Forgets deliveries that are over for some time. */
export const deleteOldDeliveries = (db: Db, days: number): Promise<number> =>
  db.run(sql`
    delete from webhook_deliveries
    where next_try_at is null and last_tried_at < now() - make_interval(days => ${days})`)
