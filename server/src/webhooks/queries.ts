/** SQL of deliveries. The rules (W1 …) are in this folder's README. */

import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { StorableText } from "@superstep/toolkit/text/storable"

/** A delivery to try now. */
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
  /** The number of this try, from 1. */
  readonly tries: number
}

/**
 * Takes due deliveries. It sets the time of the next try before this try, so a server that dies during the try loses
 * nothing, and no other server takes the same delivery in the meantime (W2).
 * @param holdMs  how long other servers leave the deliveries alone; longer than a try can take
 */
export const takeDueDeliveries = (
  db: Db,
  { revisionId, limit, holdMs }: { revisionId: string | null; limit: number; holdMs: number },
): Promise<Delivery[]> =>
  db.rows(sql`
    with due as (
      select run_id from webhook_deliveries where next_try_at <= now() and is_active(${revisionId})
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
  /** Time until the next try in milliseconds, if the delivery is still pending. */
  readonly againMs: number | undefined
  readonly replyStatus: number | undefined
  readonly reply: StorableText | undefined
  readonly failure: StorableText | undefined
}

/** Records the result of a try, unless another try was started in the meantime. */
export const recordTry = (db: Db, result: TryResult): Promise<number> =>
  db.run(sql`
    update webhook_deliveries set state = ${result.state}, last_tried_at = now(),
      next_try_at = now() + make_interval(secs => ${result.againMs ?? null}::float8 / 1000.0),
      reply_status = ${result.replyStatus ?? null}, reply = ${result.reply ?? null}, failure = ${result.failure ?? null}
    where run_id = ${result.runId} and tries = ${result.tries} and state = 'pending'`)

/** Time until the next delivery is due in milliseconds; undefined if none is pending or this revision is not active. */
export const nextDeliveryMs = async (db: Db, revisionId: string | null): Promise<number | undefined> => {
  const row = await db.row<{ due: number | null }>(sql`
    select extract(epoch from min(next_try_at) - now())::float8 * 1000 as due from webhook_deliveries
    where next_try_at is not null and is_active(${revisionId})`)
  return row?.due ?? undefined
}

/** Deletes delivered and dead deliveries after some days. */
export const deleteOldDeliveries = (db: Db, days: number): Promise<number> =>
  db.run(sql`
    delete from webhook_deliveries
    where next_try_at is null and last_tried_at < now() - make_interval(days => ${days})`)
