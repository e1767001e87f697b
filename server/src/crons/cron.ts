/** The model of a cron: a run's body, and when to create the run. Pure. */
import { RawJson } from "@superstep/toolkit/http/json"

/** A row of `crons`. */
export interface CronRow {
  readonly cron_id: string
  readonly assistant_id: string
  /** Null: each run gets its own thread. */
  readonly thread_id: string | null
  readonly on_run_completed: "delete" | "keep" | null
  readonly end_time: Date | null
  readonly schedule: string
  readonly timezone: string | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly user_id: string | null
  /** JSON texts. */
  readonly payload: string
  readonly metadata: string
  readonly next_run_date: Date | null
  readonly enabled: boolean
  /** Why the server disabled the cron; null when a client did, or when it is enabled. */
  readonly disabled_reason: string | null
}

/** The fields of a cron, in the order of output; a search may select some. */
export const cronFields = [
  "cron_id",
  "assistant_id",
  "thread_id",
  "on_run_completed",
  "end_time",
  "schedule",
  "timezone",
  "created_at",
  "updated_at",
  "user_id",
  "payload",
  "next_run_date",
  "metadata",
  "enabled",
  "disabled_reason",
] as const
export type CronField = (typeof cronFields)[number]

const jsonFields: readonly CronField[] = ["payload", "metadata"]

/** A Cron resource (agent-server-api §2.9), with the reason if it does not fire any more. */
export function renderCron(row: CronRow, select: readonly CronField[] = cronFields): Record<string, unknown> {
  const shown = cronFields.filter((field) => select.includes(field))
  return Object.fromEntries(
    shown.map((field) => [field, jsonFields.includes(field) ? new RawJson(String(row[field])) : row[field]]),
  )
}
