/** The queue's statements. The rules (R1 …) are in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Claim } from "./run.js"

export interface Claimer {
  readonly serverId: string
  /** The revision it belongs to; null may always claim. */
  readonly revisionId: string | null
  /** How long a claim lasts without renewal, in milliseconds. */
  readonly leaseMs: number
}

/**
 * Claims the oldest waiting runs. Two servers never get the same run (R1); a thread has one running run (R2, held by
 * the index `runs_one_running_per_thread`, so a clash is a 23505: look again); a thread's runs start in the order in
 * which they were asked for (R3).
 * @returns at most `limit` claims; fewer when less waits
 */
export const claimRuns = (db: Db, { serverId, revisionId, leaseMs }: Claimer, limit: number): Promise<Claim[]> =>
  db.rows<Claim>(sql`
    with next as (
      select r.run_id from runs r
      where r.status = 'pending' and r.not_before <= now() and may_claim(${revisionId})
        and not exists (
          select from runs o where o.thread_id = r.thread_id
            and (o.status = 'running' or (o.status = 'pending' and o.seq < r.seq and o.not_before <= now())))
      order by r.seq limit ${limit}
      for update skip locked
    )
    update runs r set status = 'running', attempt = r.attempt + 1, claim_id = gen_random_uuid(), claimed_by = ${serverId},
      lease_until = now() + make_interval(secs => ${leaseMs} / 1000.0), updated_at = now()
    from next where r.run_id = next.run_id
    returning r.run_id as "runId", r.claim_id as "claimId", r.thread_id as "threadId", r.graph_id as "graphId", r.attempt,
      r.kwargs, true as "hasCheckpoint", r.is_resumable as "isResumable", r.watched_by as "watchedBy"`)

/** When the next delayed run becomes due, in milliseconds from now; undefined when none waits for its time. */
export async function nextDueMs(db: Db): Promise<number | undefined> {
  const row = await db.row<{ due: number | null }>(sql`
    select extract(epoch from min(not_before) - now())::float8 * 1000 as due
    from runs where status = 'pending' and not_before > now()`)
  return row?.due ?? undefined
}

/** Renews the leases of claims that are still held. @returns the run ids that are; the others have moved on */
export const renewLeases = async (db: Db, { serverId, leaseMs }: Claimer, claimIds: readonly string[]) => {
  const rows = await db.rows<{ run_id: string }>(sql`
    update runs set lease_until = now() + make_interval(secs => ${leaseMs} / 1000.0)
    where claimed_by = ${serverId} and claim_id = any (${claimIds}::uuid[]) and status = 'running'
    returning run_id`)
  return rows.map((row) => row.run_id)
}

export interface Released {
  readonly runId: string
  readonly attempt: number
  readonly watchedBy: readonly string[]
}

/**
 * Gives a claim back, so that the run is attempted again. A server that has clients of the run asks to be served
 * through the event log, whoever claims it next.
 * @returns false when the claim was not held any more
 */
export const releaseClaim = async (
  db: Db,
  { claimId, watchedBy }: { claimId: string; watchedBy: string | undefined },
): Promise<boolean> => {
  const touched = await db.run(sql`
    with released as (
      update runs set status = 'pending', claim_id = null, claimed_by = null, lease_until = null, updated_at = now(),
        watched_by = case when ${watchedBy ?? null}::uuid is null or ${watchedBy ?? null}::uuid = any (watched_by)
          then watched_by else watched_by || ${watchedBy ?? null}::uuid end
      where claim_id = ${claimId} and status = 'running'
      returning run_id)
    select pg_notify('runs_pending', '') from released`)
  return touched > 0
}

/** Returns claims whose lease ended, or that a former life of this server held. @returns how many */
export const releaseLostClaims = (db: Db, { formerlyOf }: { formerlyOf: string | undefined }): Promise<number> =>
  db.run(sql`
    with released as (
      update runs set status = 'pending', claim_id = null, claimed_by = null, lease_until = null, updated_at = now()
      where status = 'running' and (lease_until < now() or claimed_by = ${formerlyOf ?? null}::uuid)
      returning run_id)
    select pg_notify('runs_pending', '') from released`)
