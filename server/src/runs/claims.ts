/** The queue's statements. The rules (R1 …) are in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { must } from "@superstep/toolkit/errors/must"
import { parseJson } from "@superstep/toolkit/http/json"
import { followedMs, protocolMs } from "../events/thread-queries.js"
import type { Claimer, WaitingRun } from "../servers/server.js"
import { type AttemptEnding, type CancelAction, type Claim, maxLosses } from "./run.js"

/**
 * Claims the runs that have waited longest since they could start. Two servers never get the same run (R1); a thread has one
 * running run (R2, held by the index `runs_one_running_per_thread`, so a clash is a 23505: look again); a thread's runs start
 * in the order in which they are due (R3); a run is executed by its revision (R6).
 * @param runsAlone  true: runs that need a worker of their own (R9); false: runs that share a worker
 * @param exceptGraphs  graphs whose runs are left, because the free slots are in workers of another language (R13)
 * @returns at most `limit` claims; fewer when fewer runs wait
 */
export const claimRuns = async (
  db: Db,
  { serverId, revisionId, leaseMs }: Claimer,
  { limit, runsAlone, exceptGraphs = [] }: { limit: number; runsAlone: boolean; exceptGraphs?: readonly string[] },
): Promise<Claim[]> => {
  // The two kinds have different SQL texts, so that each gets a plan for its own index.
  const canStart = sql`r.status = 'pending' and ${runsAlone ? sql`r.runs_alone` : sql`not r.runs_alone`}
        ${exceptGraphs.length === 0 ? sql`` : sql`and r.graph_id <> all (${exceptGraphs}::text[])`}
        and r.not_before <= superstep_now() and not exists (
          select from runs o where o.thread_id = r.thread_id
            and (o.status = 'running' or (o.status = 'pending' and is_due_before(o, r))))`
  const isOurs =
    revisionId === null
      ? sql`true`
      : sql`may_claim(${revisionId}) and (not (select is_traffic_split()) or
          (select revision_id from shares order by rendezvous_score(revision_id, share, r.thread_id) limit 1) = ${revisionId})`
  const isPinnedHere = revisionId === null ? sql`r.revision_id is not null` : sql`r.revision_id = ${revisionId}`
  // `claimed_at` by the clock: the attempt before may have ended while this statement waited for the run.
  const claims = await db.rows<Omit<Claim, "kwargs"> & { readonly kwargs: string }>(sql`
    with shares as materialized (select revision_id, share from serving_shares()),
    unpinned as (
      select r.run_id, r.not_before, r.seq from runs r
      where ${canStart} and r.revision_id is null and ${isOurs}
      order by r.not_before, r.seq limit ${limit} for update skip locked),
    pinned as (
      select r.run_id, r.not_before, r.seq from runs r
      where ${canStart} and ${isPinnedHere}
      order by r.not_before, r.seq limit ${limit} for update skip locked),
    next as (
      select run_id from (select * from unpinned union all select * from pinned) waiting
      order by not_before, seq limit ${limit})
    update runs r set status = 'running', attempt = r.attempt + 1, claim_id = gen_random_uuid(), claimed_by = ${serverId},
      executed_revision_id = ${revisionId}, lease_until = superstep_now() + make_interval(secs => ${leaseMs} / 1000.0), claimed_at = clock_timestamp(), updated_at = superstep_now()
    from next where r.run_id = next.run_id
    returning r.run_id as "runId", r.claim_id as "claimId", r.thread_id as "threadId", r.graph_id as "graphId", r.attempt,
      r.kwargs, r.caller, true as "hasCheckpoint", r.delete_thread_on_completion as "deletesThread", r.is_resumable as "isResumable", r.runs_alone as "runsAlone", r.webhook is not null as "hasWebhook",
      has_lost_checkpoint(r) as "hasLostCheckpoint", saved_of_command(r) as "commandSaved",
      r.watched_by as "watchedBy", ${followedMs(sql`r.thread_id`)} as "followedMs", ${protocolMs(sql`r.thread_id`)} as "protocolMs", extract(epoch from superstep_now() - greatest(r.created_at, r.not_before))::float8 * 1000 as "waitedMs"`)
  must(claims.length <= limit, "R1", "no more runs are claimed than there are slots", { limit, got: claims.length })
  const threads = new Set(claims.map(({ threadId }) => threadId))
  must(threads.size === claims.length, "R2", "a thread has one running run", { runs: claims.map(({ runId }) => runId) })
  return claims.map((claim) => ({ ...claim, kwargs: parseJson(claim.kwargs) }))
}

export interface QueueState {
  /** Whether any run waits or executes, on any server. */
  readonly isAnyInFlight: boolean
  /** The database's clock, in milliseconds since 1970. */
  readonly nowMs: number
}

/** The state of the queue for each server's regular look. */
export const readQueueState = async (db: Db): Promise<QueueState> => {
  // Ordered, so that Postgres uses the small index. It ignores an order inside `exists`, and may then scan the table.
  const row = await db.row<QueueState>(sql`
    select (select seq from runs where status = 'pending' order by not_before, seq limit 1) is not null
        or (select seq from runs where status = 'running' order by lease_until limit 1) is not null as "isAnyInFlight",
      extract(epoch from superstep_now())::float8 * 1000 as "nowMs"`)
  if (!row) throw new Error("readQueueState returned no row")
  return row
}

/** When the next delayed run becomes due, in milliseconds from now; undefined without a delayed run. */
export async function nextDueMs(db: Db): Promise<number | undefined> {
  const row = await db.row<{ due: number | null }>(sql`
    select extract(epoch from min(not_before) - superstep_now())::float8 * 1000 as due
    from runs where status = 'pending' and not_before > superstep_now()`)
  return row?.due ?? undefined
}

export interface HeldClaim {
  readonly claim_id: string
  /** A stop that was requested meanwhile; the hint for it may have been lost. */
  readonly cancel_action: CancelAction | null
  readonly watched_by: readonly string[]
}

/**
 * Which of these claims of a server are still held. The result is authoritative; hints only bring the same news sooner. It waits for no
 * other transaction.
 */
export const findHeldClaims = (db: Db, serverId: string, claimIds: readonly string[]): Promise<HeldClaim[]> =>
  db.rows<HeldClaim>(sql`
    select claim_id, cancel_action, watched_by from runs
    where claimed_by = ${serverId} and claim_id = any (${claimIds}::uuid[]) and status = 'running'`)

/**
 * Called for a claim that is not held any more. Normally a later attempt has the run, and nothing changes; after a loss of commits the run
 * gets a higher number of attempts than this claim had, and waits again (K8).
 */
export const giveBackAfterLoss = (db: Db, { runId, claimId, attempt }: Claim): Promise<number> =>
  db.run(sql`select give_back_after_loss(${runId}, ${claimId}, ${attempt}) where not exists (
    select from runs where run_id = ${runId} and claim_id = ${claimId})`)

export interface Release {
  readonly runId: string
  readonly claimId: string
  readonly ending: AttemptEnding
  /** This server's id, when it has clients of the run: the server that claims the run next logs its events for them. */
  readonly watcher: string | undefined
  /** Nothing is released after this time, by the database's clock, in milliseconds since 1970. */
  readonly untilMs?: number
  /** How long to wait for its thread or its row, which another transaction may have, in milliseconds; without a limit if not given. */
  readonly lockMs?: number
}

/** What happened to a run whose attempt ended: it waits again, it is over, or another claim has it. */
export interface Released {
  readonly outcome: "waiting" | "finished" | "rolled_back" | "claim_lost"
  /** The final status of a run that is over. */
  readonly status: "error" | "interrupted" | null
  /** The run that can start now on its thread: this run, or the next one. */
  readonly waiting: WaitingRun | null
}

/**
 * Ends an attempt whose run is not done: the run waits again, unless a stop was requested or it was lost too often (R5).
 * @param error  JSON text: the error of a run that was lost too often
 * @throws LockTimeout  another transaction has its thread or its row for longer than `lockMs`
 */
export const releaseRun = async (db: Db, release: Release, error: string): Promise<Released> => {
  const { runId, claimId, ending, watcher = null, untilMs = null, lockMs = 0 } = release
  // `due` has no row when it is too late, so the function is not called.
  const row = await db.row<Released>(sql`
    with due as materialized (
      select ${claimId}::uuid as claim_id, set_config('lock_timeout', ${String(lockMs)}, true) where ${untilMs}::float8 is null or ${isBefore(untilMs)})
    select released.* from due
      cross join lateral requeue_run(${runId}, due.claim_id, ${ending}, ${watcher}, ${maxLosses}, ${error}) released`)
  if (!row) return { outcome: "claim_lost", status: null, waiting: null }
  const isOver = row.outcome === "finished" || row.outcome === "rolled_back"
  must(isOver === (row.status !== null), "R5", "a run has a final status when it is over, and only then", {
    run_id: runId,
    outcome: row.outcome,
  })
  return row
}

const isBefore = (ms: number | null) => sql`extract(epoch from superstep_now())::float8 * 1000 <= ${ms}::float8`

export interface LostClaim {
  readonly runId: string
  readonly threadId: string
  readonly claimId: string
}

/** Claims of a former process of this server. */
export const findFormerClaims = (db: Db, serverId: string): Promise<LostClaim[]> =>
  db.rows<LostClaim>(sql`
    select run_id as "runId", thread_id as "threadId", claim_id as "claimId" from runs
    where status = 'running' and claimed_by = ${serverId} order by run_id`)

/** A claim that nobody executes. */
export interface UnheldClaim extends LostClaim {
  /** `lease_ended`: its server is gone. `abandoned`: it belongs to the server that has found it. */
  readonly ending: "lease_ended" | "abandoned"
}

/**
 * Claims that nobody executes: those of servers whose lease has ended, and those of this server without an attempt here, once they are
 * older than a lease.
 * @param heldHere  claims that this server executes: these it holds however long it could not renew its lease
 * @param untilMs   no claim is found after this time, by the database's clock, in milliseconds since 1970
 */
export const findUnheldClaims = (
  db: Db,
  { serverId, heldHere, untilMs }: { serverId: string; heldHere: readonly string[]; untilMs: number },
): Promise<UnheldClaim[]> =>
  db.rows<UnheldClaim>(sql`
    select run_id as "runId", thread_id as "threadId", claim_id as "claimId",
      case when claimed_by = ${serverId} then 'abandoned' else 'lease_ended' end as ending
    from runs r
    where status = 'running' and lease_until < superstep_now() and claim_id <> all (${heldHere}::uuid[]) and ${isBefore(untilMs)}
      and (claimed_by = ${serverId} or not exists (
        -- As is_claim_lost, which Postgres would call for each run, with all of its columns.
        select from servers s where s.server_id = r.claimed_by and s.lease_until >= superstep_now()))
    order by run_id`)
