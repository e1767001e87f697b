/** The queue's statements. The rules (R1 …) are in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { followedMs } from "../events/thread-queries.js"
import { type AttemptEnding, type CancelAction, type Claim, maxLosses } from "./run.js"

export interface Claimer {
  readonly serverId: string
  /** The revision it belongs to; null may always claim. */
  readonly revisionId: string | null
  /** How long a claim lasts without renewal, in milliseconds. */
  readonly leaseMs: number
}

/**
 * Claims the runs that have waited longest since they could start. Two servers never get the same run (R1); a thread has one running run (R2, held by
 * the index `runs_one_running_per_thread`, so a clash is a 23505: look again); a thread's runs start in the order in
 * which they were asked for (R3).
 * @param runsAlone  runs that get a worker of their own (R9), or those that share one
 * @returns at most `limit` claims; fewer when less waits
 */
export const claimRuns = (
  db: Db,
  { serverId, revisionId, leaseMs }: Claimer,
  { limit, runsAlone }: { limit: number; runsAlone: boolean },
): Promise<Claim[]> =>
  // Two statements, so that each has a plan for its own index.
  db.rows<Claim>(sql`
    with next as (
      select r.run_id from runs r
      where r.status = 'pending' and ${runsAlone ? sql`r.runs_alone` : sql`not r.runs_alone`} and r.not_before <= now() and may_claim(${revisionId})
        and not exists (
          select from runs o where o.thread_id = r.thread_id
            and (o.status = 'running' or (o.status = 'pending' and o.seq < r.seq and o.not_before <= now())))
      order by r.not_before, r.seq limit ${limit}
      for update skip locked
    )
    update runs r set status = 'running', attempt = r.attempt + 1, claim_id = gen_random_uuid(), claimed_by = ${serverId},
      lease_until = now() + make_interval(secs => ${leaseMs} / 1000.0), updated_at = now()
    from next where r.run_id = next.run_id
    returning r.run_id as "runId", r.claim_id as "claimId", r.thread_id as "threadId", r.graph_id as "graphId", r.attempt,
      r.kwargs, r.caller, true as "hasCheckpoint", r.delete_thread_on_completion as "deletesThread", r.is_resumable as "isResumable", r.runs_alone as "runsAlone",
      r.watched_by as "watchedBy", ${followedMs(sql`r.thread_id`)} as "followedMs", extract(epoch from now() - greatest(r.created_at, r.not_before))::float8 * 1000 as "waitedMs"`)

export interface Sight {
  /** Whether any run waits or executes, wherever. */
  readonly isAnyInFlight: boolean
  /** The database's clock, in milliseconds since 1970. */
  readonly nowMs: number
}

/** A look at the queue as a whole. */
export const lookAtQueue = async (db: Db): Promise<Sight> => {
  // Ordered, so that Postgres takes the small index: it drops the order of a mere `exists` and may scan the table.
  const row = await db.row<Sight>(sql`
    select (select seq from runs where status = 'pending' order by not_before, seq limit 1) is not null
        or (select seq from runs where status = 'running' order by lease_until limit 1) is not null as "isAnyInFlight",
      extract(epoch from now())::float8 * 1000 as "nowMs"`)
  if (!row) throw new Error("lookAtQueue returned no row")
  return row
}

/** When the next delayed run becomes due, in milliseconds from now; undefined when none waits for its time. */
export async function nextDueMs(db: Db): Promise<number | undefined> {
  const row = await db.row<{ due: number | null }>(sql`
    select extract(epoch from min(not_before) - now())::float8 * 1000 as due
    from runs where status = 'pending' and not_before > now()`)
  return row?.due ?? undefined
}

export interface HeldClaim {
  readonly claim_id: string
  /** What somebody asked for meanwhile: the notification that said so may have been lost. */
  readonly cancel_action: CancelAction | null
  readonly watched_by: readonly string[]
}

/**
 * Renews the leases of claims that are still held. This is the truth about a claim; notifications only make it quicker.
 * @returns the claims that are held; the others have moved on
 */
export const renewLeases = (
  db: Db,
  { serverId, leaseMs }: Claimer,
  claimIds: readonly string[],
): Promise<HeldClaim[]> =>
  db.rows<HeldClaim>(sql`
    with held as (
      select run_id from runs
      where claimed_by = ${serverId} and claim_id = any (${claimIds}::uuid[]) and status = 'running'
      order by run_id for update)
    update runs r set lease_until = now() + make_interval(secs => ${leaseMs} / 1000.0)
    from held where r.run_id = held.run_id
    returning r.claim_id, r.cancel_action, r.watched_by`)

export interface Release {
  readonly runId: string
  readonly claimId: string
  readonly ending: AttemptEnding
  /** The server, when it has clients of the run: whoever claims it next serves them through the event log. */
  readonly watcher: string | undefined
  /** Later than this, by the database's clock, nothing is released: milliseconds since 1970. */
  readonly untilMs?: number
}

/** What became of a run whose attempt ended: it waits again, it is over, or somebody else has it. */
export interface Released {
  readonly outcome: "waiting" | "finished" | "rolled_back" | "claim_lost"
  /** That of a run which is over. */
  readonly status: "error" | "interrupted" | null
}

/**
 * Ends an attempt whose run is not done: the run waits again, unless it was asked to stop or was lost too often (R5).
 * @param error  JSON text: how a run ends that was lost too often
 */
export const releaseRun = async (db: Db, release: Release, error: string): Promise<Released> => {
  const { runId, claimId, ending, watcher = null, untilMs = null } = release
  // The function is called with what the condition lets through, so not at all when it is too late.
  const row = await db.row<Released>(sql`
    with due as materialized (
      select ${claimId}::uuid as claim_id where ${untilMs}::float8 is null or ${isBefore(untilMs)})
    select released.* from due
      cross join lateral release_run(${runId}, due.claim_id, ${ending}, ${watcher}, ${maxLosses}, ${error}) released`)
  return row ?? { outcome: "claim_lost", status: null }
}

const isBefore = (ms: number | null) => sql`extract(epoch from now())::float8 * 1000 <= ${ms}::float8`

export interface LostClaim {
  readonly runId: string
  readonly claimId: string
}

/** Claims that a former life of this server held. */
export const findFormerClaims = (db: Db, serverId: string): Promise<LostClaim[]> =>
  db.rows<LostClaim>(sql`
    select run_id as "runId", claim_id as "claimId" from runs
    where status = 'running' and claimed_by = ${serverId} order by run_id`)

/**
 * Claims whose lease is over.
 * @param heldHere  claims of attempts that this server executes: these it renews, however long that was impossible
 * @param untilMs   later than this, by the database's clock, none is found: milliseconds since 1970
 */
export const findExpiredClaims = (
  db: Db,
  { heldHere, untilMs }: { heldHere: readonly string[]; untilMs: number },
): Promise<LostClaim[]> =>
  db.rows<LostClaim>(sql`
    select run_id as "runId", claim_id as "claimId" from runs
    where status = 'running' and lease_until < now() and claim_id <> all (${heldHere}::uuid[]) and ${isBefore(untilMs)}
    order by run_id`)
