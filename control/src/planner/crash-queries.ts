/** Of the table `units`: how a unit is, how often it crashed, and when it may be started again. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { UnitRow } from "./facts.js"

/** What a unit told of itself at the last look. */
export const recordReport = (
  db: Db,
  unitId: string,
  seen: Pick<UnitRow, "is_answering" | "worker_crashes" | "last_worker_crash" | "cross_origin">,
): Promise<number> =>
  db.run(sql`
    update units set is_answering = ${seen.is_answering}, worker_crashes = ${seen.worker_crashes},
      last_worker_crash = ${seen.last_worker_crash},
      cross_origin = ${seen.cross_origin === null ? null : JSON.stringify(seen.cross_origin)}::jsonb
    where unit_id = ${unitId}`)

/** Adds the runs that ended on a unit since its last report. The first report after the canary began adds nothing. */
export const recordOutcomes = (
  db: Db,
  unitId: string,
  { ended, failed }: { ended: number; failed: number },
): Promise<number> =>
  db.run(sql`
    update units set runs_ended = runs_ended + greatest(0, ${ended} - coalesce(reported_ended, ${ended})),
      runs_failed = runs_failed + greatest(0, ${failed} - coalesce(reported_failed, ${failed})),
      reported_ended = ${ended}, reported_failed = ${failed}
    where unit_id = ${unitId} and (reported_ended is distinct from ${ended} or reported_failed is distinct from ${failed})`)

/** It has ended, and may be started again after a pause. @param crashes  how often it has crashed in a row */
export const recordEnd = (db: Db, unitId: string, crashes: number, backOffMs: number): Promise<number> =>
  db.run(sql`
    update units set crashes = ${crashes}, is_down = true, is_answering = false, start_after = superstep_now() + ${backOffMs} * interval '1 millisecond'
    where unit_id = ${unitId}`)

/** Its new process has no crash yet; a restart that somebody asked for also begins a new count of the unit's own. */
export const recordStart = (db: Db, unitId: string): Promise<number> =>
  db.run(sql`
    update units set start_after = superstep_now(), is_down = false, is_answering = false, worker_crashes = 0, last_worker_crash = null,
      reported_ended = 0, reported_failed = 0, restart_generation = d.restart_generation,
      crashes = case when units.restart_generation < d.restart_generation then 0 else units.crashes end
    from deployments d where d.deployment_id = units.deployment_id and unit_id = ${unitId}`)

/** Every unit may be started from now on. Crashes stay counted: the next one is the next in the same row. */
export const clearBackOff = (db: Db): Promise<number> =>
  db.run(sql`update units set start_after = superstep_now() where start_after > superstep_now()`)
