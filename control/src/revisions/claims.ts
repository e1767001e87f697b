/**
 * The pipeline's claims on revisions. C1 one process works on a revision; C2 one pipeline works on a deployment
 * (held by the index `revision_one_claim_of_a_deployment`); C3 every write names its fence, and a write whose
 * fence is old fails with ClaimLost; C4 a claim expires when its holder dies; C5 claims are shared fairly between workspaces,
 * and a workspace fetches and builds at most as many revisions at once as its quota `builds` says; C6 a revision whose row another
 * transaction has locked, such as that of a process that is paused, holds up no other one: a statement about many leaves it out.
 */

import { type Database, type Db, isSqlState, sqlState } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { StorableText } from "@superstep/toolkit/text/storable"
import type { RevisionRow } from "./queries.js"
import type { Commit, Reason, RevisionStatus, Stage } from "./revision.js"

/** The claim is no longer ours: the revision was interrupted or superseded, or the lease expired. */
export class ClaimLost extends KnownError {
  readonly code = "claim_lost"
  constructor(revisionId: string) {
    super(`the claim on revision ${revisionId} was lost`)
  }
}

export interface ClaimedRevision extends RevisionRow {
  readonly stage: Stage
  readonly lease_owner: string
  readonly fence: number
  /** Tries of this stage that failed with a fault that may pass. */
  readonly stage_attempt: number
  /** How long ago the first of these tries failed; 0 without one. */
  readonly failing_ms: number
  readonly stage_deaths: number
  readonly tree_hash: string | null
  readonly build_log_offset: number
}

/** The part of a claim that each write checks. */
export type Claim = Pick<ClaimedRevision, "revision_id" | "lease_owner" | "fence">

/** The stages for which a process has room. */
export interface OpenStages {
  /** For every workspace. */
  readonly all: readonly Stage[]
  /** Only for a workspace that has no claim in the stage. */
  readonly reserved: readonly Stage[]
}

/** Whether this installation carries the revision out, and no listener does (listeners/README.md). */
const isOurs = (revision: Sql): Sql => sql`${revision}.source_config ->> 'listener_id' is null`

/** C6. @param which  a condition on `revisions` */
const unlocked = (which: Sql): Sql =>
  sql`revision_id in (select revision_id from revisions where ${which} for no key update skip locked)`

// Any constant of our own.
const claimLock = 7_283_117

/** What a process has room for. `builds`: how many revisions a workspace may fetch and build at once, unless the operator has set another quota. */
export interface Room {
  readonly open: OpenStages
  readonly builds: number
}

/** The revision whose turn it is, if there is one; `held` has the claims, each with its workspace and stage. */
const nextTurn = ({ open, builds }: Room): Sql => sql`
  select r.revision_id, r.stage, d.workspace_id from revisions r join deployments d using (deployment_id)
    left join workspace_quotas q on q.workspace_id = d.workspace_id
    left join workspace_turns t on t.workspace_id = d.workspace_id and t.stage = r.stage
    cross join lateral (
      select count(*) filter (where held.stage = r.stage) as in_stage,
        count(*) filter (where held.stage in ('fetch', 'build')) as builds
      from held where held.workspace_id = d.workspace_id) own
  where r.stage is not null and r.lease_owner is null and r.not_before <= superstep_now() and ${isOurs(sql`r`)}
    and (r.stage = any(${open.all}) or (r.stage = any(${open.reserved}) and own.in_stage = 0))
    and (r.stage not in ('fetch', 'build') or own.builds < coalesce(q.builds, ${builds}))
    and not exists (
      select 1 from revisions older
      where older.deployment_id = r.deployment_id and older.seq < r.seq and older.stage is not null)
  order by own.in_stage, t.claimed_at nulls first, r.trigger = 'rollback' desc, r.not_before, r.revision_id limit 1`

const heldClaims = sql`held as (
  select d.workspace_id, c.stage from revisions c join deployments d using (deployment_id)
  where c.lease_owner is not null)`

/**
 * Claims a revision with work for one process: of a deployment's revisions, the oldest that has started. Older ones that
 * have not started were superseded before (`skipSuperseded`). The workspace with the fewest claims in the stage goes first, then the
 * one whose last claim was longest ago; within it a rollback, then what has waited longest (C5).
 * @returns  undefined when there is nothing to do now
 */
export async function claimNextRevision(
  db: Database,
  { owner, leaseMs, ...room }: Room & { owner: string; leaseMs: number },
): Promise<ClaimedRevision | undefined> {
  try {
    return await db.transaction(async (tx) => {
      // Two processes that claim at once would not see each other's claim, and exceed the quota together.
      await tx.run(sql`select pg_advisory_xact_lock(${claimLock})`)
      return tx.row<ClaimedRevision>(sql`
        with ${heldClaims}, next as (
          ${nextTurn(room)}
          for no key update of r skip locked
        ), turn as (
          insert into workspace_turns (workspace_id, stage, claimed_at)
          select workspace_id, stage, superstep_now() from next
          on conflict (workspace_id, stage) do update set claimed_at = excluded.claimed_at
        )
        update revisions r set
          lease_owner = ${owner}, lease_until = superstep_now() + ${leaseMs} * interval '1 millisecond', fence = r.fence + 1,
          status = case r.stage when 'build' then 'BUILDING' when 'deploy' then 'DEPLOYING' else r.status end,
          started_at = coalesce(r.started_at, superstep_now()), updated_at = superstep_now(),
          -- A stage that waited for its turn waits no more (noteWaiting). The reason of a retry stays, and that of an aborted canary.
          status_message = case when r.stage_attempt > 0 or r.error_code is not null then r.status_message end,
          stage_started_at = jsonb_build_object(r.stage, superstep_now()) || r.stage_started_at
        from next where r.revision_id = next.revision_id
        returning r.*, case when r.stage_attempt > 0 then
          coalesce(extract(epoch from superstep_now() - r.failing_since) * 1000, 0) else 0 end::float8 as failing_ms`)
    })
  } catch (error) {
    // A revision of the same deployment was claimed meanwhile (C2).
    if (isSqlState(error, sqlState.uniqueViolation, "revision_one_claim_of_a_deployment")) return undefined
    throw error
  }
}

/**
 * After a claim without result: milliseconds until the next delayed revision is due. 0: it is a revision's turn, and another transaction has
 * locked it; nobody reports the end of a lock. Undefined: neither.
 */
export async function nextTurnMs(db: Db, room: Room): Promise<number | undefined> {
  // One statement, which has one time: a revision is due by it, or still delayed.
  const row = await db.row<{ due_ms: number | null }>(sql`
    with ${heldClaims}, turn as (${nextTurn(room)})
    select case when exists (select from turn) then 0 else (
      select ceil(extract(epoch from min(not_before) - superstep_now()) * 1000) from revisions
      where stage is not null and lease_owner is null and not_before > superstep_now()) end::int as due_ms`)
  return row?.due_ms ?? undefined
}

/**
 * Stores in the revisions that could be claimed now, but have to wait for others, what they wait for. Their claim removes it.
 * Call it when there was nothing more to claim.
 */
export const noteWaiting = (db: Db, { open, builds }: Room): Promise<number> =>
  db.run(sql`
    with ${heldClaims}, waiting as (
      select r.revision_id, case
          when r.stage in ('fetch', 'build') and own.builds >= coalesce(q.builds, ${builds}) then
            format('waits for other builds of its workspace: %s in progress, and its quota "builds" is %s',
              own.builds, coalesce(q.builds, ${builds}))
          when r.stage <> all(${open.all}) and (r.stage <> all(${open.reserved}) or own.in_stage > 0) then
            format('waits for its turn: the platform works on %s revisions in the stage "%s", and has no room for more',
              (select count(*) from held where held.stage = r.stage), r.stage)
        end as why
      from revisions r join deployments d using (deployment_id)
        left join workspace_quotas q on q.workspace_id = d.workspace_id
        cross join lateral (
          select count(*) filter (where held.stage = r.stage) as in_stage,
            count(*) filter (where held.stage in ('fetch', 'build')) as builds
          from held where held.workspace_id = d.workspace_id) own
      where r.stage is not null and r.lease_owner is null and r.not_before <= superstep_now() and r.stage_attempt = 0
        and r.error_code is null and ${isOurs(sql`r`)}
        and not exists (
          select 1 from revisions older
          where older.deployment_id = r.deployment_id and older.seq < r.seq and older.stage is not null)
    ), news as (
      select r.revision_id, waiting.why from waiting join revisions r using (revision_id)
      where r.lease_owner is null and waiting.why is not null and r.status_message is distinct from waiting.why
      for no key update of r skip locked)
    update revisions r set status_message = news.why, updated_at = superstep_now()
    from news where r.revision_id = news.revision_id`)

/** How many revisions of a workspace are being fetched or built. */
export const claimedBuilds = async (db: Db, workspaceId: string): Promise<number> => {
  const row = await db.row<{ builds: number }>(sql`
    select count(*) as builds from revisions r join deployments d using (deployment_id)
    where d.workspace_id = ${workspaceId} and r.lease_owner is not null and r.stage in ('fetch', 'build')`)
  return row?.builds ?? 0
}

/** Renews claims, except those on locked rows (C6). @returns the ids of the revisions that are still ours */
export async function renewClaims(db: Db, claims: readonly Claim[], leaseMs: number): Promise<ReadonlySet<string>> {
  const rows = await db.rows<{ revision_id: string }>(sql`
    with ours as (
      select r.revision_id, r.lease_owner, r.fence from revisions r join unnest(
        ${claims.map((claim) => claim.revision_id)}::uuid[], ${claims.map((claim) => claim.lease_owner)}::text[],
        ${claims.map((claim) => claim.fence)}::bigint[]
      ) as held (revision_id, lease_owner, fence) using (revision_id, lease_owner, fence)
    ), renewed as (
      update revisions r set lease_until = superstep_now() + ${leaseMs} * interval '1 millisecond'
      where ${unlocked(sql`(revision_id, lease_owner, fence) in (select * from ours)`)})
    select revision_id from ours`)
  return new Set(rows.map(({ revision_id }) => revision_id))
}

/** Frees the claims of dead processes (C4). Each counts as a death in that stage. @returns  how many */
export const freeExpiredClaims = (db: Db): Promise<number> =>
  db.run(sql`
    update revisions set lease_owner = null, lease_until = null, stage_deaths = stage_deaths + 1
    where ${unlocked(sql`lease_owner is not null and lease_until < superstep_now()`)}`)

/** Frees at once the claims of a former process of this home; our lock proves that it is dead. */
export const freeFormerClaims = (db: Db, homeId: string): Promise<number> =>
  db.run(sql`
    update revisions set lease_owner = null, lease_until = null, stage_deaths = stage_deaths + 1
    where split_part(lease_owner, '/', 1) = ${homeId}`)

/** Returns a claimed revision unchanged, when its process stops in order. */
export const releaseClaim = (db: Db, claim: Claim): Promise<number> =>
  db.run(sql`update revisions set lease_owner = null, lease_until = null where ${held(claim)}`)

export interface Advance {
  readonly status: RevisionStatus
  /** Null when there is nothing left to do. */
  readonly stage: Stage | null
  readonly artifactId?: string
  readonly error?: Reason
}

/**
 * Ends a stage and releases the claim, in one statement.
 * @throws ClaimLost
 */
export const advance = (db: Db, claim: Claim, { status, stage, artifactId, error }: Advance): Promise<void> =>
  fenced(
    claim,
    db.run(sql`
      update revisions set status = ${status}, stage = ${stage}, lease_owner = null, lease_until = null,
        stage_attempt = 0, stage_deaths = 0, not_before = superstep_now(), updated_at = superstep_now(),
        artifact_id = coalesce(${artifactId ?? null}, artifact_id),
        -- A message without a code only said why a stage waits. With one, it says why a canary ended during its switch.
        error_code = coalesce(${error?.code ?? null}, error_code),
        status_message = coalesce(${error?.message ?? null}, case when error_code is not null then status_message end),
        finished_at = case when ${isEnd(status)} then coalesce(finished_at, superstep_now()) end
      where ${held(claim)}`),
  )

const isEnd = (status: RevisionStatus): boolean =>
  status === "DEPLOYED" || status === "SKIPPED" || status === "INTERRUPTED" || status.endsWith("FAILED")

/**
 * Schedules the same stage again after a while. A wait that is no retry shows that earlier faults have passed. `why` is shown
 * while it waits. @throws ClaimLost
 */
export const waitInStage = (
  db: Db,
  claim: Claim,
  { delayMs, isRetry, why }: { delayMs: number; isRetry: boolean; why: StorableText | null },
): Promise<void> =>
  fenced(
    claim,
    db.run(sql`
      update revisions set lease_owner = null, lease_until = null,
        -- A fault between two deaths does not excuse them.
        stage_deaths = ${isRetry ? sql`stage_deaths` : 0},
        not_before = superstep_now() + ${delayMs} * interval '1 millisecond', stage_attempt = ${isRetry ? sql`stage_attempt + 1` : 0},
        failing_since = case when stage_attempt = 0 then superstep_now() else coalesce(failing_since, superstep_now()) end,
        status_message = case when error_code is null then coalesce(${why}, status_message) else status_message end,
        updated_at = superstep_now()
      where ${held(claim)}`),
  )

/** Stores what the fetch found; the build that follows starts a new log file. @throws ClaimLost */
export const recordCommit = (
  db: Db,
  claim: Claim,
  { sha, treeHash, commit }: { sha: string; treeHash: string | null; commit: Commit | null },
): Promise<void> =>
  fenced(
    claim,
    db.run(sql`
      update revisions set commit_sha = ${sha}, tree_hash = coalesce(${treeHash}, tree_hash), build_log_offset = 0,
        commit = coalesce(${commit && JSON.stringify(commit)}::jsonb, commit)
      where ${held(claim)}`),
  )

/** Stores how much of the build's log is stored; call it in the transaction that stores the lines. @throws ClaimLost */
export const recordBuildLog = (tx: Db, claim: Claim, offset: number): Promise<void> =>
  fenced(claim, tx.run(sql`update revisions set build_log_offset = ${offset} where ${held(claim)}`))

/** Locks the revision for a transaction that also writes elsewhere under this claim. @throws ClaimLost */
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
    update revisions set status = 'QUEUED', updated_at = superstep_now()
    where ${unlocked(sql`status = 'CREATING' and stage = 'queue' and lease_owner is null and ${isOurs(sql`revisions`)}`)}`)

/**
 * Skips revisions that have not started and have a newer unfinished one behind them. A rollback does not wait for a build or
 * for a unit that may never be ready: it also takes those revisions from their process, which notices at its next renewal.
 * @returns  how many were skipped
 */
export const skipSuperseded = (db: Db): Promise<number> =>
  db.run(sql`
    with superseded as (
      select old.revision_id, newer.revision_id as by_id
      from revisions old join revisions newer on newer.deployment_id = old.deployment_id and newer.seq = (
        select max(latest.seq) from revisions latest
        where latest.deployment_id = old.deployment_id and latest.stage is not null)
      where newer.seq > old.seq and old.stage in ('queue', 'fetch', 'build', 'deploy') and ${isOurs(sql`old`)}
        and ((old.lease_owner is null and old.status in ('CREATING', 'QUEUED', 'AWAITING_BUILD'))
          or newer.trigger in ('redeploy', 'rollback'))
      for no key update of old skip locked)
    update revisions old set status = 'SKIPPED', stage = null, error_code = 'superseded',
      status_message = 'a newer revision, ' || superseded.by_id || ', took its place',
      lease_owner = null, lease_until = null, fence = old.fence + 1, finished_at = superstep_now(), updated_at = superstep_now()
    from superseded where old.revision_id = superseded.revision_id`)

/**
 * Interrupts a revision on request, before its switch; after that, a rollback is the way. Its process notices at its next
 * renewal (a notification makes that immediate). The planner stops its units, the reconciler its build.
 * @returns  false when it has ended already or is past its switch
 */
export const interruptRevision = async (tx: Db, revisionId: string): Promise<boolean> => {
  const ended = await tx.run(sql`
    update revisions set status = 'INTERRUPTED', stage = null, error_code = 'interrupted',
      status_message = 'interrupted on request', lease_owner = null, lease_until = null, fence = fence + 1,
      finished_at = superstep_now(), updated_at = superstep_now()
    where revision_id = ${revisionId} and stage in ('queue', 'fetch', 'build', 'deploy')`)
  return ended > 0
}

/** Whether a revision is in the pipeline, in whatever stage: else there is nothing to claim, admit, skip or free. */
export const hasUnfinished = async (db: Db): Promise<boolean> =>
  (await db.row(sql`select from revisions where stage is not null limit 1`)) !== undefined
