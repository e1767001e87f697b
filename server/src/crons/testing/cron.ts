/** Helpers for tests of crons, whose server has the graph "agent". Tests move due times instead of waiting. */
import assert from "node:assert/strict"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import type { TestHttp } from "../../testing/test-http.js"
import type { TestServer } from "../../testing/test-server.js"

export interface Cron {
  readonly cron_id: string
  readonly next_run_date: string | null
  readonly enabled: boolean
  readonly disabled_reason: string | null
  readonly [field: string]: unknown
}

export const agent = { assistant_id: "agent", schedule: "0 0 1 1 *", input: { n: 1 } }

export const hourly = { ...agent, schedule: "0 * * * *" }

export async function created(http: TestHttp, fields: object = {}, path = "/runs/crons"): Promise<Cron> {
  const { status, json, text } = await http.send("POST", path, { ...agent, ...fields })
  assert.equal(status, 200, text)
  return json as Cron
}

export const cronOf = async (http: TestHttp, cronId: string) =>
  (await http.send("GET", `/runs/crons/${cronId}`)).json as Cron

/** Moves a cron's due time into the past. Like each due time of a schedule, it is one that a `Date` holds exactly. */
export async function makeDue(db: Db, cronId: string, ago = "1 second"): Promise<void> {
  await db.run(
    sql`update crons set next_run_date = date_trunc('second', now() - ${ago}::interval) where cron_id = ${cronId}`,
  )
  await db.run(sql`select pg_notify('crons_changed', '')`)
}

export const runsOf = (db: Db, cronId: string) =>
  db.rows<{ run_id: string; thread_id: string; status: string; kwargs: string }>(
    sql`select run_id, thread_id, status, kwargs from runs where metadata ->> 'cron_id' = ${cronId} order by seq`,
  )

export const startedRuns = (server: TestServer, count: number) =>
  until(() => server.workers.started.length >= count && server.workers.started, { what: `${count} runs to start` })
