/** The official checkpointers and stores of LangGraph on a test's database. */
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"

const name = "official"

/** The URI of a test's database for official clients. */
export const officialUri = (db: Database): string => `${db.uri}&application_name=${name}`

/**
 * Waits until the sessions of official clients are gone. Their `end` and `stop` return earlier. If the test then dropped the
 * database, Postgres would terminate these sessions, which causes an error event that no listener handles.
 */
export async function untilOfficialLeft(db: Database): Promise<void> {
  const isThere = sql`select 1 from pg_stat_activity where datname = current_database() and application_name = ${name}`
  await until(async () => (await db.rows(isThere)).length === 0, { what: "the official client's sessions are gone" })
}
