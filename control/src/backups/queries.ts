/** The table `backup_schedule`, which `superstep up` writes and the control plane shows. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/**
 * Stores the schedule. One that is already stored keeps its due time: a backup that became due while nothing ran is made now.
 * @param firstDueAt  when the first backup of a new schedule is due
 */
export const setBackupSchedule = (db: Db, schedule: string, firstDueAt: Date): Promise<number> =>
  db.run(sql`
    insert into backup_schedule (schedule, due_at) values (${schedule}, ${firstDueAt})
    on conflict (is_only) do update set schedule = excluded.schedule,
      due_at = case when backup_schedule.schedule = excluded.schedule then backup_schedule.due_at else excluded.due_at end`)

export const removeBackupSchedule = (db: Db): Promise<number> => db.run(sql`delete from backup_schedule`)

/** @returns  in how many milliseconds the next backup is due, negative when it is late; undefined without a schedule */
export const backupDueMs = async (db: Db): Promise<number | undefined> => {
  const row = await db.row<{ ms: number }>(
    sql`select extract(epoch from due_at - now())::float8 * 1000 as ms from backup_schedule`,
  )
  return row?.ms
}

export const recordBackup = (
  db: Db,
  { file, sizeBytes, nextDueAt }: { file: string; sizeBytes: number; nextDueAt: Date },
): Promise<number> =>
  db.run(sql`
    update backup_schedule set due_at = ${nextDueAt}, last_success_at = now(), last_file = ${file},
      last_size_bytes = ${sizeBytes}, failures = 0, last_failure = null`)

/** @returns  the number of consecutive failures */
export const recordBackupFailure = async (tx: Db, failure: string): Promise<number> => {
  const row = await tx.row<{ failures: number }>(sql`
    update backup_schedule set failures = failures + 1, last_failure = ${failure} returning failures`)
  return row?.failures ?? 0
}

export interface BackupState {
  /** Since the last success; null before the first one. */
  readonly age_seconds: number | null
  readonly last_size_bytes: number | null
  /** Since a backup was due; 0 while none is. */
  readonly late_seconds: number
  readonly failures: number
}

/** @returns  undefined without a schedule */
export const backupState = (db: Db): Promise<BackupState | undefined> =>
  db.row(sql`
    select extract(epoch from now() - last_success_at)::float8 as age_seconds, last_size_bytes, failures,
      greatest(0, extract(epoch from now() - due_at))::float8 as late_seconds
    from backup_schedule`)
