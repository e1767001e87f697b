/** What a revision's units are for: the column `revisions.role`. Every change of it is here. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Reason, Role } from "./revision.js"

/** @returns 0 when it has a role already, or is no longer being deployed */
export const startRevision = (tx: Db, revisionId: string): Promise<number> =>
  tx.run(sql`
    update revisions set role = 'starting' where revision_id = ${revisionId} and role is null and stage = 'deploy'`)

/**
 * Makes a revision the serving one. The one that served becomes the standby; the former standby, and another one that is the canary,
 * become `pinned`. Safe to repeat.
 * @throws Error   its units are retiring or gone
 */
export async function serveWith(
  tx: Db,
  { deploymentId, revisionId }: { deploymentId: string; revisionId: string },
): Promise<void> {
  await lockRoles(tx, deploymentId)
  const now = await tx.row<{ role: Role | null }>(sql`select role from revisions where revision_id = ${revisionId}`)
  if (now?.role === "serving") return
  if (now?.role !== "starting" && now?.role !== "canary")
    throw new Error(`revision ${revisionId} cannot serve: its units have ended, or are about to`)
  await tx.run(sql`
    update revisions set role = 'pinned', pinned_since = superstep_now()
    where deployment_id = ${deploymentId} and role = 'standby' and revision_id <> ${revisionId}`)
  await replaceCanary(tx, deploymentId, revisionId)
  await tx.run(sql`
    update revisions set role = 'standby'
    where deployment_id = ${deploymentId} and role = 'serving'`)
  await takeOver(tx, deploymentId, revisionId)
}

/**
 * Makes a revision the canary of the one that serves. A former canary becomes `pinned`. Safe to repeat.
 * @returns `no` when none serves, or it is to take over at once; `was` when it is one no more: it was aborted or replaced
 */
export async function startCanary(
  tx: Db,
  { deploymentId, revisionId }: { deploymentId: string; revisionId: string },
): Promise<"yes" | "no" | "was"> {
  await lockRoles(tx, deploymentId)
  const now = await tx.row<{ role: Role | null; weight: number | null; has_ended: boolean; has_base: boolean }>(sql`
    select role, weight, error_code is not null as has_ended, exists (
      select from revisions o where o.deployment_id = ${deploymentId} and o.role = 'serving' and o.revision_id <> r.revision_id) as has_base
    from revisions r where revision_id = ${revisionId}`)
  if (now?.role === "canary") return "yes"
  if (now?.role !== "starting") return now?.has_ended ? "was" : "no"
  if (!now.has_base || now.weight === null) return "no"
  await replaceCanary(tx, deploymentId, revisionId)
  await tx.run(sql`update revisions set role = 'canary' where revision_id = ${revisionId}`)
  await tx.run(sql`
    update units set runs_ended = 0, runs_failed = 0, reported_ended = null, reported_failed = null
    where deployment_id = ${deploymentId}`)
  await tx.run(sql`
    update units set crashes = 0, reported_ended = 0, reported_failed = 0 where revision_id = ${revisionId}`)
  return "yes"
}

/** Another revision comes after it: the canary keeps the threads that are pinned to it, and a reason why it never took over. */
const replaceCanary = (tx: Db, deploymentId: string, by: string): Promise<number> =>
  tx.run(sql`
    update revisions set role = 'pinned', pinned_since = superstep_now(), weight = null, error_code = 'canary_replaced', updated_at = superstep_now(),
      status_message = 'revision ' || ${by}::text || ' came before it was promoted'
    where deployment_id = ${deploymentId} and role = 'canary' and revision_id <> ${by}::uuid`)

/** Whether a canary is to take over, under a lock: it may have been aborted meanwhile. */
export async function lockPromotion(tx: Db, deploymentId: string, revisionId: string): Promise<boolean> {
  await lockRoles(tx, deploymentId)
  const row = await tx.row(sql`
    select from revisions r where revision_id = ${revisionId} and role = 'canary' and (weight = 100 or not exists (
      select from revisions o where o.deployment_id = r.deployment_id and o.role = 'serving'))`)
  return row !== undefined
}

/**
 * Retires a canary, with the reason.
 * @param weight  the one that it had when that was decided
 * @returns false when it is the canary no more, or has another weight: a promotion was asked for meanwhile
 */
export async function retireCanary(
  tx: Db,
  revision: { deploymentId: string; revisionId: string; weight: number | null; drainMs: number },
  { code, message }: Reason,
): Promise<boolean> {
  await lockRoles(tx, revision.deploymentId)
  const retired = await tx.run(sql`
    update revisions set role = 'retiring', retire_by = superstep_now() + ${revision.drainMs} * interval '1 millisecond', weight = null,
      error_code = ${code}, status_message = ${message}, updated_at = superstep_now()
    where revision_id = ${revision.revisionId} and role = 'canary' and weight is not distinct from ${revision.weight}::integer`)
  return retired > 0
}

/** The canary of a deployment that is to take over. */
export async function promotedCanary(db: Db, deploymentId: string): Promise<string | undefined> {
  const row = await db.row<{ revision_id: string }>(sql`
    select revision_id from revisions where deployment_id = ${deploymentId} and role = 'canary' and weight = 100`)
  return row?.revision_id
}

/** Sets the percentage of a canary, or of a revision that is still to become one; null: it takes over at its switch. */
export const setWeight = (tx: Db, revisionId: string, weight: number | null): Promise<number> =>
  tx.run(sql`update revisions set weight = ${weight}, updated_at = superstep_now() where revision_id = ${revisionId}`)

/**
 * Takes a switch back: the failed revision retires, and the one that stands by serves again. The planner activates its units and brings
 * the edge's table up to date. Call it in a transaction that wakes the pipeline.
 * @returns the revision that serves again, or null when none stood by; undefined when the failed one does not serve any more, and
 *   nothing was changed
 */
export async function switchBack(
  tx: Db,
  { deploymentId, failed, drainMs }: { deploymentId: string; failed: string; drainMs: number },
): Promise<string | null | undefined> {
  await lockRoles(tx, deploymentId)
  const retired = await tx.run(sql`
    update revisions set role = 'retiring', retire_by = superstep_now() + ${drainMs} * interval '1 millisecond'
    where revision_id = ${failed} and role = 'serving'`)
  if (retired === 0) return undefined
  const previous = await tx.row<{ revision_id: string }>(sql`
    select revision_id from revisions where deployment_id = ${deploymentId} and role = 'standby'`)
  if (previous) await takeOver(tx, deploymentId, previous.revision_id)
  await setActiveRevision(tx, deploymentId, previous?.revision_id ?? null)
  return previous?.revision_id ?? null
}

/**
 * A switch and a rollback change several revisions of a deployment, one after the other. Lock order: the deployment, then its revisions
 * (`testing/lock-order.ts`). A new unit locks the deployment, too: it refers to it.
 */
export const lockRoles = (tx: Db, deploymentId: string): Promise<number> =>
  tx.run(sql`select from deployments where deployment_id = ${deploymentId} for update`)

/** Which revisions of a deployment execute runs. */
export interface ExecutingRevisions {
  /** Those to which threads may be pinned. */
  readonly all: string[]
  /** Unless it is to take over or to be aborted. */
  readonly canary: { readonly revision_id: string; readonly weight: number } | undefined
}

/**
 * In one statement: pins to a canary that is aborted between two would be kept, and nothing would end them. One that is to be aborted counts as
 * retired, for the same reason.
 */
export async function executingRevisions(db: Db, deploymentId: string): Promise<ExecutingRevisions> {
  const rows = await db.rows<{ revision_id: string; weight: number | null; is_canary: boolean }>(sql`
    select revision_id, weight, role = 'canary' and weight between 1 and 99 as is_canary
    from revisions where deployment_id = ${deploymentId} and role in ('serving', 'standby', 'canary', 'pinned')
      and (role <> 'canary' or weight is distinct from 0)`)
  const canary = rows.find(({ is_canary }) => is_canary)
  return {
    all: rows.map(({ revision_id }) => revision_id),
    canary: canary && { revision_id: canary.revision_id, weight: canary.weight ?? 0 },
  }
}

async function takeOver(tx: Db, deploymentId: string, revisionId: string): Promise<void> {
  // It has as many units as the one before needed: whether fewer are enough is seen from now on.
  await tx.run(sql`
    update revisions set role = 'serving', weight = null, serves_since = superstep_now(), loaded_at = superstep_now()
    where revision_id = ${revisionId}`)
  await tx.run(sql`
    update units set active_at = superstep_now(), crashes = 0, is_down = false where revision_id = ${revisionId}`)
  // Its units run; or they did before it slept, and are started again.
  await tx.run(sql`delete from sleeps where deployment_id = ${deploymentId}`)
}

/**
 * Ends a revision's units.
 * @param drainMs  how long they may go on with what they have, in milliseconds; 0 for units that never served
 */
export const retire = (tx: Db, revisionId: string, drainMs: number): Promise<number> =>
  tx.run(sql`
    update revisions set role = 'retiring', retire_by = superstep_now() + ${drainMs} * interval '1 millisecond', pinned_since = null, weight = null
    where revision_id = ${revisionId} and role is distinct from 'retiring' and role is not null`)

/**
 * The watch over a new revision ended well: the former one serves only the threads that are pinned to it.
 * @returns 0 when it does not stand by
 */
export const endStandby = (tx: Db, revisionId: string): Promise<number> =>
  tx.run(sql`
    update revisions set role = 'pinned', pinned_since = superstep_now() where revision_id = ${revisionId} and role = 'standby'`)

/** Stores how many threads are pinned to it, for the API. */
export const recordPinnedThreads = (db: Db, revisionId: string, threads: number): Promise<number> =>
  db.run(sql`
    update revisions set pinned_threads = ${threads} where revision_id = ${revisionId} and pinned_threads <> ${threads}`)

/** It was scaled just now, or tried to be. */
export const recordScaled = (tx: Db, revisionId: string): Promise<number> =>
  tx.run(
    sql`update revisions set scaled_at = superstep_now(), loaded_at = superstep_now() where revision_id = ${revisionId}`,
  )

/** It needs all its units at this moment. */
export const recordLoaded = (db: Db, revisionId: string): Promise<number> =>
  db.run(sql`update revisions set loaded_at = superstep_now() where revision_id = ${revisionId}`)

/** Ends the role of a revision that has no units. The caller has locked it. */
export const endRole = (tx: Db, revisionId: string): Promise<number> =>
  tx.run(sql`
    update revisions set role = null, retire_by = null, pinned_since = null, pinned_threads = 0
    where revision_id = ${revisionId} and not exists (select from units u where u.revision_id = revisions.revision_id)`)

export const setActiveRevision = (db: Db, deploymentId: string, revisionId: string | null): Promise<number> =>
  db.run(sql`
    update deployments set active_revision_id = ${revisionId}, updated_at = superstep_now()
    where deployment_id = ${deploymentId}`)
