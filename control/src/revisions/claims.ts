/**
 * The pipeline's hold on revisions. C1 a revision is worked on by one process; C2 a deployment has one pipeline, draining
 * apart (held by the index `revision_one_claim_of_a_deployment`); C3 every write names its fence, and a write whose
 * fence is old fails with ClaimLost; C4 a claim ends by itself when its holder dies.
 */
import { type Db, isSqlState, sqlState } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { RevisionRow } from "./queries.js"
import type { ErrorCode, RevisionStatus, Stage } from "./revision.js"

/** Somebody else decides about the revision now: it was interrupted, superseded, or its lease ran out. */
export class ClaimLost extends KnownError {
  readonly code = "claim_lost"
  constructor(revisionId: string) {
    super(`revision ${revisionId} is no longer ours`)
  }
}

export interface ClaimedRevision extends RevisionRow {
  readonly stage: Stage
  readonly lease_owner: string
  readonly fence: number
  /** Tries of this stage that ended with a fault that may pass. */
  readonly stage_attempt: number
  readonly stage_deaths: number
  readonly tree_hash: string | null
  readonly build_log_offset: number
  /** When its units were up at the end of their watch. */
  readonly watch_ended_at: Date | null
}

/** What a write names. */
export type Claim = Pick<ClaimedRevision, "revision_id" | "lease_owner" | "fence">

/**
 * Gives a revision with work to one process; of a deployment's revisions the oldest that has begun. What is older and
 * has not begun was superseded before (`skipSuperseded`).
 * @param stages  those that the caller has room for
 * @returns       undefined when nothing is to be done now
 */
export async function claimNextRevision(
  db: Db,
  { owner, leaseMs, stages }: { owner: string; leaseMs: number; stages: readonly Stage[] },
): Promise<ClaimedRevision | undefined> {
  try {
    return await db.row<ClaimedRevision>(sql`
      with next as (
        select r.revision_id from revisions r
        where r.stage = any(${stages}) and r.lease_owner is null and r.not_before <= now()
          and (r.stage = 'drain' or not exists (
            select 1 from revisions older
            where older.deployment_id = r.deployment_id and older.seq < r.seq
              and older.stage is not null and older.stage <> 'drain'))
        order by r.not_before, r.revision_id limit 1
        for update skip locked
      )
      update revisions r set
        lease_owner = ${owner}, lease_until = now() + ${leaseMs} * interval '1 millisecond', fence = r.fence + 1,
        status = case r.stage when 'build' then 'BUILDING' when 'deploy' then 'DEPLOYING' else r.status end,
        started_at = coalesce(r.started_at, now()), updated_at = now(),
        stage_started_at = jsonb_build_object(r.stage, now()) || r.stage_started_at
      from next where r.revision_id = next.revision_id
      returning r.*`)
  } catch (error) {
    // Another process has just claimed a revision of the same deployment (C2): look again at the next wake-up.
    if (isSqlState(error, sqlState.uniqueViolation, "revision_one_claim_of_a_deployment")) return undefined
    throw error
  }
}

/** Renews claims. @returns the ids of the revisions that are still ours */
export async function renewClaims(db: Db, claims: readonly Claim[], leaseMs: number): Promise<ReadonlySet<string>> {
  const rows = await db.rows<{ revision_id: string }>(sql`
    update revisions r set lease_until = now() + ${leaseMs} * interval '1 millisecond'
    from unnest(
      ${claims.map((claim) => claim.revision_id)}::uuid[], ${claims.map((claim) => claim.lease_owner)}::text[],
      ${claims.map((claim) => claim.fence)}::bigint[]
    ) as held (revision_id, lease_owner, fence)
    where r.revision_id = held.revision_id and r.lease_owner = held.lease_owner and r.fence = held.fence
    returning r.revision_id`)
  return new Set(rows.map(({ revision_id }) => revision_id))
}

/** Frees what dead processes held (C4). Each such end counts as a death in that stage. @returns how many */
export const freeExpiredClaims = (db: Db): Promise<number> =>
  db.run(sql`
    update revisions set lease_owner = null, lease_until = null, stage_deaths = stage_deaths + 1
    where lease_owner is not null and lease_until < now()`)

/** Frees, without waiting, what a former process of this home held; its lock proves that it is dead. */
export const freeFormerClaims = (db: Db, homeId: string): Promise<number> =>
  db.run(sql`
    update revisions set lease_owner = null, lease_until = null, stage_deaths = stage_deaths + 1
    where split_part(lease_owner, '/', 1) = ${homeId}`)

/** Gives a revision back unharmed, when its process ends in order. */
export const releaseClaim = (db: Db, claim: Claim): Promise<number> =>
  db.run(sql`update revisions set lease_owner = null, lease_until = null where ${held(claim)}`)

export interface Advance {
  readonly status: RevisionStatus
  /** Null when there is nothing left to do. */
  readonly stage: Stage | null
  readonly artifactId?: string
  readonly error?: Reason
}

/** Why a revision is not what was hoped for. */
export interface Reason {
  readonly code: ErrorCode
  readonly message: string
}

/**
 * Ends a stage and lets go of the claim, in one statement.
 * @throws ClaimLost
 */
export const advance = (db: Db, claim: Claim, { status, stage, artifactId, error }: Advance): Promise<void> =>
  fenced(
    claim,
    db.run(sql`
      update revisions set status = ${status}, stage = ${stage}, lease_owner = null, lease_until = null,
        stage_attempt = 0, stage_deaths = 0, not_before = now(), updated_at = now(),
        artifact_id = coalesce(${artifactId ?? null}, artifact_id),
        -- What a rollback wrote on a draining revision stays; before that, a message only says why a stage waits.
        error_code = coalesce(${error?.code ?? null}, case stage when 'drain' then error_code end),
        status_message = coalesce(${error?.message ?? null}, case stage when 'drain' then status_message end),
        finished_at = case when ${isEnd(status)} then coalesce(finished_at, now()) end
      where ${held(claim)}`),
  )

const isEnd = (status: RevisionStatus): boolean =>
  status === "DEPLOYED" || status === "SKIPPED" || status === "INTERRUPTED" || status.endsWith("FAILED")

/** Comes back to the same stage after a while; a wait that is no retry shows that the faults before it have passed. `why` is shown as long as it waits. @throws ClaimLost */
export const waitInStage = (
  db: Db,
  claim: Claim,
  { delayMs, isRetry, why }: { delayMs: number; isRetry: boolean; why: string | null },
): Promise<void> =>
  fenced(
    claim,
    db.run(sql`
      update revisions set lease_owner = null, lease_until = null,
        -- A fault between two deaths does not excuse them.
        stage_deaths = ${isRetry ? sql`stage_deaths` : 0},
        not_before = now() + ${delayMs} * interval '1 millisecond', stage_attempt = ${isRetry ? sql`stage_attempt + 1` : 0},
        status_message = coalesce(${why}, status_message), updated_at = now()
      where ${held(claim)}`),
  )

/** Stores what the fetch found; the build that follows begins a new log file. @throws ClaimLost */
export const recordCommit = (
  db: Db,
  claim: Claim,
  { sha, treeHash, commit }: { sha: string; treeHash: string | null; commit: object | null },
): Promise<void> =>
  fenced(
    claim,
    db.run(sql`
      update revisions set commit_sha = ${sha}, tree_hash = coalesce(${treeHash}, tree_hash), build_log_offset = 0,
        commit = coalesce(${commit && JSON.stringify(commit)}::jsonb, commit)
      where ${held(claim)}`),
  )

/** Says how much of the build's log is stored; belongs into the transaction that stores the lines. @throws ClaimLost */
export const recordBuildLog = (tx: Db, claim: Claim, offset: number): Promise<void> =>
  fenced(claim, tx.run(sql`update revisions set build_log_offset = ${offset} where ${held(claim)}`))

/** Writes a reason on a revision whose status stays. @throws ClaimLost */
export const recordReason = (tx: Db, claim: Claim, { code, message }: Reason): Promise<void> =>
  fenced(
    claim,
    tx.run(sql`
      update revisions set error_code = ${code}, status_message = ${message}, updated_at = now()
      where ${held(claim)}`),
  )

/** Its units were up when their watch ended. @throws ClaimLost */
export const recordWatchEnd = (tx: Db, claim: Claim): Promise<void> =>
  fenced(claim, tx.run(sql`update revisions set watch_ended_at = now() where ${held(claim)}`))

/** Locks the revision for a transaction that also writes elsewhere in its name. @throws ClaimLost */
export const holdClaim = (tx: Db, claim: Claim): Promise<void> =>
  fenced(claim, tx.run(sql`select 1 from revisions where ${held(claim)} for update`))

const held = (claim: Claim) =>
  sql`revision_id = ${claim.revision_id} and lease_owner = ${claim.lease_owner} and fence = ${claim.fence}`

async function fenced(claim: Claim, written: Promise<number>): Promise<void> {
  if ((await written) === 0) throw new ClaimLost(claim.revision_id)
}

/** New revisions are complete when they are committed: from then on they wait for their turn. */
export const admitRevisions = (db: Db): Promise<number> =>
  db.run(sql`
    update revisions set status = 'QUEUED', updated_at = now()
    where status = 'CREATING' and stage = 'queue' and lease_owner is null`)

/**
 * Skips what has not begun and has a newer unfinished revision behind it. A rollback does not wait either for a build, or
 * for a unit that may never be ready: what is under way is taken from its process, which notices at its next renewal.
 * @returns how many were skipped
 */
export const skipSuperseded = (db: Db): Promise<number> =>
  db.run(sql`
    update revisions old set status = 'SKIPPED', stage = null, error_code = 'superseded',
      status_message = 'a newer revision, ' || newer.revision_id || ', took its place',
      lease_owner = null, lease_until = null, fence = old.fence + 1, finished_at = now(), updated_at = now()
    from revisions newer
    where newer.deployment_id = old.deployment_id and newer.seq = (
        select max(latest.seq) from revisions latest
        where latest.deployment_id = old.deployment_id and latest.stage is not null and latest.stage <> 'drain')
      and newer.seq > old.seq and old.stage in ('queue', 'fetch', 'build', 'deploy')
      and ((old.lease_owner is null and old.status in ('CREATING', 'QUEUED', 'AWAITING_BUILD'))
        or newer.trigger in ('redeploy', 'rollback'))`)

/**
 * Ends a revision that somebody does not want any more, before its switch; after that, a rollback is the way. Its
 * process notices at its next renewal (a notification brings that about at once), and the reconciler ends what it left.
 * @returns false when it has ended already or is past that point
 */
export const interruptRevision = async (tx: Db, revisionId: string): Promise<boolean> => {
  const ended = await tx.run(sql`
    update revisions set status = 'INTERRUPTED', stage = null, error_code = 'interrupted',
      status_message = 'interrupted on request', lease_owner = null, lease_until = null, fence = fence + 1,
      finished_at = now(), updated_at = now()
    where revision_id = ${revisionId} and stage in ('queue', 'fetch', 'build', 'deploy')`)
  return ended > 0
}

/** Milliseconds until the next revision that waits for its time is due; undefined when none waits. */
export async function nextDueMs(db: Db): Promise<number | undefined> {
  const row = await db.row<{ due_ms: number | null }>(sql`
    select ceil(extract(epoch from min(not_before) - now()) * 1000)::int as due_ms
    from revisions where stage is not null and lease_owner is null and not_before > now()`)
  return row?.due_ms ?? undefined
}
