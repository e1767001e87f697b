/** The table `sleeps`: deployments whose units are stopped until they are needed. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { wakePipeline } from "./wake-up.js"

/** @returns  whether it slept; then the pipeline is notified */
export async function wakeDeployment(db: Db, deploymentId: string): Promise<boolean> {
  const woken = await db.run(sql`update sleeps set is_waking = true where deployment_id = ${deploymentId}`)
  if (woken > 0) await wakePipeline(db, deploymentId)
  return woken > 0
}

/** It was woken, and answers. */
export const endSleep = (db: Db, deploymentId: string): Promise<number> =>
  db.run(sql`delete from sleeps where deployment_id = ${deploymentId} and is_waking`)

/** @param dueMs  when its first cron or delayed run is due, in milliseconds from now */
export async function fallAsleep(db: Db, deploymentId: string, dueMs: number | undefined): Promise<void> {
  const asleep = await db.run(sql`
    insert into sleeps (deployment_id, wake_at)
    select ${deploymentId}::uuid, superstep_now() + ${dueMs ?? null}::float8 * interval '1 millisecond'
    where not exists (select from revisions where deployment_id = ${deploymentId} and stage is not null)
    on conflict do nothing`)
  if (asleep > 0) await wakePipeline(db, deploymentId)
}

/** There is no room for the unit: requests that wake its deployment are refused for a while, unless another unit of it has connections. */
export const refuseWakeUp = (
  tx: Db,
  unit: { readonly unit_id: string; readonly deployment_id: string },
  againMs: number,
): Promise<number> =>
  tx.run(sql`
    update sleeps set is_waking = false, refused_until = superstep_now() + ${againMs} * interval '1 millisecond'
    where deployment_id = ${unit.deployment_id} and not exists (
      select from units o where o.deployment_id = sleeps.deployment_id and o.unit_id <> ${unit.unit_id}
        and o.connections > 0)`)
