/** The table `sleeps`: deployments whose units are stopped until they are needed. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { wakePipeline } from "../revisions/wake-up.js"

/** @returns whether it slept; when it did, the pipeline is told */
export async function wakeDeployment(db: Db, deploymentId: string): Promise<boolean> {
  const woken = await db.run(sql`update sleeps set is_waking = true where deployment_id = ${deploymentId}`)
  if (woken > 0) await wakePipeline(db, deploymentId)
  return woken > 0
}

/** Wakes those whose first cron or delayed run is due soon. */
export async function wakeDue(db: Db): Promise<void> {
  const due = await db.rows<{ deployment_id: string }>(sql`
    update sleeps set is_waking = true where wake_at <= now() and not is_waking returning deployment_id`)
  for (const { deployment_id } of due) await wakePipeline(db, deployment_id)
}

/** @param dueMs  when its first cron or delayed run is due, in milliseconds from now */
export async function fallAsleep(db: Db, deploymentId: string, dueMs: number | undefined): Promise<void> {
  const asleep = await db.run(sql`
    insert into sleeps (deployment_id, wake_at)
    select ${deploymentId}::uuid, now() + ${dueMs ?? null}::float8 * interval '1 millisecond'
    where not exists (select from revisions where deployment_id = ${deploymentId} and stage is not null)
    on conflict do nothing`)
  if (asleep > 0) await wakePipeline(db, deploymentId)
}

export interface RestlessUnit {
  readonly unit_id: string
  readonly deployment_id: string
  readonly token_sealed: string
  /** How long nothing was seen of it, in milliseconds. */
  readonly idle_ms: number
}

/**
 * Units that serve a deployment which may sleep: its type says so, or it wants no replica when there is nothing to do.
 * One that the pipeline works on may not, nor one with a unit that is starting or has crashed. A replica that there was no
 * room for has no connections, and keeps nobody awake: others may wait for the room of those that run.
 */
export const unitsThatMaySleep = (db: Db): Promise<RestlessUnit[]> =>
  db.rows(sql`
    select u.unit_id, u.deployment_id, u.token_sealed,
      (extract(epoch from now() - u.active_at) * 1000)::bigint as idle_ms
    from units u join revisions r using (revision_id) join deployments d on d.deployment_id = u.deployment_id
    where u.state = 'serving' and u.connections > 0 and d.desired_run_state = 'running' and d.delete_requested_at is null
      and (r.source_config ->> 'deployment_type' in ('dev_free', 'dev_zero', 'dev_free_zero')
        or r.source_config -> 'resource_spec' ->> 'min_scale' = '0')
      and not exists (select from sleeps s where s.deployment_id = u.deployment_id)
      and not exists (select from units o where o.deployment_id = u.deployment_id
        and (o.state <> 'serving' or (o.connections > 0 and (o.is_down or not o.is_ready))))
      and not exists (select from revisions o where o.deployment_id = u.deployment_id and o.stage is not null)`)

/** It was of use so long ago; a later time is not taken back. */
export const noteUse = (db: Db, unitId: string, agoMs: number): Promise<number> =>
  db.run(sql`
    update units set active_at = greatest(active_at, now() - ${agoMs} * interval '1 millisecond')
    where unit_id = ${unitId} and active_at < now() - ${agoMs + 1000} * interval '1 millisecond'`)
