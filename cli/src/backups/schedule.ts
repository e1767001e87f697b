/**
 * Makes a backup whenever the schedule says so, while `superstep up` runs. The due time is in the database and moves when a
 * backup has succeeded: one that became due while nothing ran is made at the next start. A backup is made by a process of its own
 * (`superstep backup`), whose lock in the data folder keeps others from making one at the same time. `stop` ends a backup under way.
 */
import { mkdir, readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import {
  backupDueMs,
  recordBackup,
  recordBackupFailure,
  removeBackupSchedule,
  setBackupSchedule,
} from "@superstep/control/backups/queries"
import { recordEvent } from "@superstep/control/events/operations"
import { foldersOf } from "@superstep/control/home/folders"
import { homeIdOf } from "@superstep/control/home/home"
import { nextRun } from "@superstep/server/crons/schedule"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { pause } from "@superstep/toolkit/exec/pause"
import { isBackingUp, removeKilledBackup } from "../home/archive.js"
import type { Home } from "../home/home.js"
import { backupName, superseded } from "./names.js"

export interface BackupPlan {
  readonly schedule: string
  readonly folder: string
  /** How many backups stay in the folder. */
  readonly keep: number
}

export interface BackupsOptions {
  readonly home: Home
  /** The control plane's database. */
  readonly databaseUri: string
  /** Undefined: no backups are scheduled, and the control plane shows none. */
  readonly plan: BackupPlan | undefined
  /**
   * Writes a backup.
   * @returns  undefined when it succeeded, or why it failed
   */
  readonly make: (file: string, signal: AbortSignal) => Promise<string | undefined>
  /** Tells the terminal of a failure. */
  readonly tell: (words: string) => void
  /** The pause after the first failure, in milliseconds; it doubles up to an hour. */
  readonly retryMs?: number
}

export interface ScheduledBackups {
  stop(): Promise<void>
}

const usualRetryMs = 60_000
const mostRetryMs = 3_600_000
// A clock that is set forward is noticed within this time.
const lookMs = 60_000

export async function startScheduledBackups(options: BackupsOptions): Promise<ScheduledBackups> {
  const { home, databaseUri, plan } = options
  const db = openDatabase({ uri: databaseUri, poolSize: 1, log: home.log })
  const stopping = new AbortController()
  const running = run(options, db, stopping.signal)
  if (plan) home.log.info({ ...plan }, "backups are scheduled")
  return {
    stop: async () => {
      stopping.abort()
      await running
      await db.close()
      if (plan) await removeKilledBackup(home)
    },
  }
}

async function run(options: BackupsOptions, db: Database, signal: AbortSignal): Promise<void> {
  const { home, plan, retryMs = usualRetryMs } = options
  let isStored = false
  let failures = 0
  while (!signal.aborted) {
    let waitMs = lookMs
    try {
      if (!isStored) await store(db, plan)
      isStored = true
      if (!plan) return
      const dueMs = (await backupDueMs(db)) ?? lookMs
      if (dueMs > 0 || (await isBackingUp(home))) waitMs = Math.min(lookMs, Math.max(1, dueMs))
      else if (await backUpOnce(options, plan, db, signal)) failures = 0
      else waitMs = Math.min(mostRetryMs, retryMs * 2 ** Math.min(20, failures++))
    } catch (err) {
      home.log.error({ err }, "the schedule of backups cannot be followed; it is tried again")
    }
    await pause(waitMs, signal)
  }
}

async function store(db: Database, plan: BackupPlan | undefined): Promise<void> {
  if (plan) await setBackupSchedule(db, plan.schedule, dueAfter(plan, new Date()))
  else await removeBackupSchedule(db)
}

/** The settings accept only schedules with a next time. */
function dueAfter({ schedule }: BackupPlan, after: Date): Date {
  const next = nextRun(schedule, null, after)
  if (!next) throw new Error(`the schedule ${schedule} is never due again`)
  return next
}

/** @returns  whether it succeeded; also true when it was stopped */
async function backUpOnce(
  { home, make, tell }: BackupsOptions,
  plan: BackupPlan,
  db: Database,
  signal: AbortSignal,
): Promise<boolean> {
  const startedAt = performance.now()
  const homeId = await homeIdOf(foldersOf(home.folder))
  const name = backupName(homeId, new Date())
  const failure = await makeIn(plan.folder, name, (file) => make(file, signal))
  if (typeof failure !== "string") {
    await recordBackup(db, { ...failure, nextDueAt: dueAfter(plan, new Date()) })
    home.log.info({ ...failure, duration_ms: Math.round(performance.now() - startedAt) }, "backup made")
    await removeOld(home, plan, (names) => superseded(names, homeId, plan.keep, name))
    return true
  }
  if (signal.aborted) return true
  home.log.error({ failure }, "a scheduled backup failed; it is tried again")
  tell(`the scheduled backup failed, and is tried again: ${failure}`)
  await db.transaction(async (tx) => {
    const failures = await recordBackupFailure(tx, failure)
    await recordEvent(tx, { workspaceId: null, type: "backup.failed", data: { failure, failures } })
  })
  return false
}

/** @returns  the file and its size, or why there is none */
async function makeIn(
  folder: string,
  name: string,
  make: (file: string) => Promise<string | undefined>,
): Promise<string | { readonly file: string; readonly sizeBytes: number }> {
  const file = join(folder, name)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return (await make(file)) ?? { file, sizeBytes: (await stat(file)).size }
  } catch (error) {
    return (error as Error).message
  }
}

/** Removes the oldest beyond the wanted number. A failure leaves them to the next backup. */
async function removeOld(home: Home, { folder }: BackupPlan, old: (names: string[]) => string[]): Promise<void> {
  try {
    for (const name of old(await readdir(folder))) {
      await rm(join(folder, name), { force: true })
      home.log.info({ file: join(folder, name) }, "old backup removed")
    }
  } catch (err) {
    home.log.warn({ err, folder }, "old backups cannot be removed; it is tried again after the next one")
  }
}
