/** The table `units`, and what the planner reads of revisions and deployments. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { RevisionRow } from "../revisions/queries.js"
import { endRole } from "../revisions/role-queries.js"
import { refuseWakeUp } from "../revisions/sleep-queries.js"
import { type ResourceSpec, usualPinDays } from "../revisions/source-config.js"
import type { DeploymentFacts, RevisionFacts, UnitFacts, UnitRow } from "./facts.js"

const unitColumns = sql`u.unit_id, u.deployment_id, u.revision_id, u.ordinal, coalesce(r.role, 'retiring') as role, u.token_sealed, u.is_ready, u.last_end, u.crashes,
  u.is_down, u.connections, u.log_place, u.worker_crashes, u.last_worker_crash, u.is_answering, u.cross_origin,
  u.runs_ended, u.runs_failed, (extract(epoch from superstep_now() - u.leaving_since) * 1000)::bigint as leaving_ms,
  (extract(epoch from superstep_now() - u.start_after) * 1000)::bigint as up_ms,
  (extract(epoch from superstep_now() - u.active_at) * 1000)::bigint as idle_ms`

const units = sql`units u join revisions r using (revision_id)`

export const addUnit = (
  db: Db,
  unit: {
    unitId: string
    deploymentId: string
    revisionId: string
    ordinal: number
    tokenSealed: string
    isReady: boolean
  },
): Promise<number> =>
  db.run(sql`
    insert into units (unit_id, deployment_id, revision_id, ordinal, token_sealed, is_ready, restart_generation)
    select ${unit.unitId}::uuid, deployment_id, ${unit.revisionId}::uuid, ${unit.ordinal},
      ${unit.tokenSealed}, ${unit.isReady}, restart_generation from deployments where deployment_id = ${unit.deploymentId}
    on conflict (revision_id, ordinal) do nothing`)

export const replaceUnitId = (
  tx: Db,
  formerId: string,
  { unitId, tokenSealed }: { readonly unitId: string; readonly tokenSealed: string },
): Promise<number> =>
  tx.run(sql`
    update units set unit_id = ${unitId}::uuid, token_sealed = ${tokenSealed} where unit_id = ${formerId}::uuid`)

export const unitById = (db: Db, unitId: string): Promise<UnitRow | undefined> =>
  db.row(sql`select ${unitColumns} from ${units} where u.unit_id = ${unitId}`)

/** Its replicas, in order. */
export const unitsOfRevision = (db: Db, revisionId: string): Promise<UnitRow[]> =>
  db.rows(sql`select ${unitColumns} from ${units} where u.revision_id = ${revisionId} order by u.ordinal`)

export const unitsOfDeployment = (db: Db, deploymentId: string): Promise<UnitRow[]> =>
  db.rows(sql`
    select ${unitColumns} from ${units} where u.deployment_id = ${deploymentId} order by u.revision_id, u.ordinal`)

export const allUnits = (db: Db): Promise<UnitRow[]> =>
  db.rows(sql`select ${unitColumns} from ${units} order by u.deployment_id, u.revision_id, u.ordinal`)

/** A unit, with the columns of its revision and its deployment that the plan reads. */
export interface PlannedRow
  extends Omit<UnitFacts, "seen" | "traffic">,
    Omit<DeploymentFacts, "revisions" | "deployment_id">,
    Omit<RevisionFacts, "units" | "revision_id" | "role" | "pins"> {
  readonly resource_spec: ResourceSpec | null
}

/**
 * Everything that the tables say of units, by deployment. What was seen of each is added by the planner.
 * @param ids  of the deployments to read; undefined: all
 */
export async function plannedDeployments(db: Db, ids?: readonly string[]): Promise<Map<string, PlannedRow[]>> {
  const among = ids ? sql`where u.deployment_id = any(${ids}::uuid[])` : sql``
  const rows = await db.rows<PlannedRow>(sql`
    select ${unitColumns}, u.restart_generation < d.restart_generation as is_outdated,
      u.start_after <= superstep_now() or u.restart_generation < d.restart_generation as may_start,
      (extract(epoch from u.start_after - superstep_now()) * 1000)::bigint as start_in_ms,
      r.source_config -> 'resource_spec' as resource_spec,
      r.stage is null as is_settled, coalesce(r.stage = 'deploy', false) as is_deploying, r.weight,
      (extract(epoch from superstep_now() - greatest(r.finished_at, r.serves_since)) * 1000)::bigint as settled_ms,
      (extract(epoch from superstep_now() - r.scaled_at) * 1000)::bigint as scaled_ms,
      (extract(epoch from superstep_now() - r.loaded_at) * 1000)::bigint as loaded_ms,
      ${minUnits} as min_units, greatest(${minUnits}, coalesce((r.source_config -> 'resource_spec' ->> 'max_scale')::integer, 0)) as max_units,
      (extract(epoch from r.retire_by - superstep_now()) * 1000)::bigint as retire_in_ms,
      (extract(epoch from superstep_now() - r.pinned_since) * 1000)::bigint as pinned_ms,
      coalesce((d.source_config ->> 'max_pin_age_days')::float8, ${usualPinDays}) * 86400000 as max_pin_ms,
      (d.source_config -> 'rollback_on' ->> 'min_runs')::integer as rollback_min_runs,
      d.delete_requested_at is not null as is_deleted, d.desired_run_state = 'paused' as is_paused,
      s.deployment_id is not null as has_sleep, s.deployment_id is not null and not s.is_waking as is_asleep,
      (extract(epoch from s.wake_at - superstep_now()) * 1000)::bigint as wake_in_ms,
      ${maySleep} as may_sleep, w.is_worked_on, w.is_switching
    from ${units} join deployments d on d.deployment_id = u.deployment_id
    left join sleeps s on s.deployment_id = u.deployment_id
    cross join lateral (
      select count(*) > 0 as is_worked_on, coalesce(bool_or(o.stage = 'switch'), false) as is_switching
      from revisions o where o.deployment_id = u.deployment_id and o.stage is not null) w
    ${among}
    order by u.deployment_id, u.revision_id, u.ordinal`)
  const grouped = new Map<string, PlannedRow[]>()
  for (const row of rows) {
    const others = grouped.get(row.deployment_id)
    if (others) others.push(row)
    else grouped.set(row.deployment_id, [row])
  }
  return grouped
}

// As `replicasOf`.
const minUnits = sql`greatest(1, coalesce((r.source_config -> 'resource_spec' ->> 'min_scale')::integer, 1))`

const maySleep = sql`(r.source_config ->> 'deployment_type' in ('dev_free', 'dev_zero', 'dev_free_zero')
  or coalesce(r.source_config -> 'resource_spec' ->> 'min_scale' = '0', false))`

/** Whether a unit's process should run at this moment, as far as its deployment goes: it neither sleeps nor is paused. */
export const isWanted = async (db: Db, unitId: string): Promise<boolean> => {
  const row = await db.row(sql`
    select from ${units} join deployments d on d.deployment_id = u.deployment_id
      left join sleeps s on s.deployment_id = u.deployment_id
    where u.unit_id = ${unitId} and d.delete_requested_at is null
      and d.desired_run_state = 'running' and (s.deployment_id is null or s.is_waking)`)
  return row !== undefined
}

/** Whether a unit should be active. During a switch or a promotion the next one is, though this one still has the requests. */
export const executesRuns = async (db: Db, unitId: string): Promise<boolean> => {
  const row = await db.row(sql`
    select from ${units} where u.unit_id = ${unitId} and r.role = 'serving' and not exists (
      select from revisions o
      where o.deployment_id = u.deployment_id and (o.stage = 'switch' or (o.role = 'canary' and o.weight = 100)))`)
  return row !== undefined
}

/** Its requests wait from now on, or go to the other replicas. @returns 0 when they did so before */
export const holdUnit = (db: Db, unitId: string): Promise<number> =>
  db.run(sql`update units set is_ready = false where unit_id = ${unitId} and is_ready`)

/** It gets requests from now on. */
export const admitUnit = (db: Db, unitId: string): Promise<number> =>
  db.run(
    sql`update units set is_ready = true, is_answering = true, active_at = superstep_now() where unit_id = ${unitId}`,
  )

/**
 * Starts the unit later, for lack of room. Callers that wait for its deployment get 503, unless another replica has connections: then they
 * wait for that one.
 */
export async function deferStart(
  tx: Db,
  unit: Pick<UnitRow, "unit_id" | "deployment_id">,
  againMs: number,
): Promise<void> {
  await tx.run(sql`
    update units set start_after = superstep_now() + ${againMs} * interval '1 millisecond',
      -- A restart that was asked for before does not come any sooner.
      restart_generation = d.restart_generation
    from deployments d where d.deployment_id = units.deployment_id and unit_id = ${unit.unit_id}`)
  await refuseWakeUp(tx, unit, againMs)
}

/** Deletes the row of a unit that was removed; its revision has no role once it has no units. */
export async function removeUnit(
  tx: Db,
  { unit_id, revision_id }: Pick<UnitRow, "unit_id" | "revision_id">,
): Promise<void> {
  // Locked: of two units that end at once, each would still see the other one's row.
  await tx.run(sql`select from revisions where revision_id = ${revision_id} for update`)
  await tx.run(sql`delete from units where unit_id = ${unit_id}`)
  await endRole(tx, revision_id)
}

export const revisionOfUnit = (db: Db, unitId: string): Promise<RevisionRow | undefined> =>
  db.row(sql`select r.* from revisions r join units u using (revision_id) where u.unit_id = ${unitId}`)

export const recordOomKill = (tx: Db, unitId: string): Promise<number> =>
  tx.run(sql`update units set last_end = 'oom_killed' where unit_id = ${unitId}`)

/** Up to where a unit's output is stored, which only its machine understands; undefined when the unit is gone. */
export const unitLogPlace = async (db: Db, unitId: string): Promise<string | undefined> => {
  const row = await db.row<{ log_place: string }>(sql`select log_place from units where unit_id = ${unitId}`)
  return row?.log_place
}

/** @returns false when it is not at `from` any more: somebody else stored that piece */
export const moveUnitLog = async (
  tx: Db,
  unitId: string,
  { from, to }: { from: string; to: string },
): Promise<boolean> =>
  (await tx.run(sql`update units set log_place = ${to} where unit_id = ${unitId} and log_place = ${from}`)) > 0

/** Stores that the unit was last used `agoMs` milliseconds ago; the stored time never goes back. */
export const recordUse = (db: Db, unitId: string, agoMs: number): Promise<number> =>
  db.run(sql`
    update units set active_at = greatest(active_at, superstep_now() - ${agoMs} * interval '1 millisecond')
    where unit_id = ${unitId} and active_at < superstep_now() - ${agoMs + 1000} * interval '1 millisecond'`)
