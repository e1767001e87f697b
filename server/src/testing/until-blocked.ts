import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"

/** Resolves when so many statements on this database wait for a lock. */
export const untilBlocked = (db: Database, count = 1) =>
  until(
    async () => {
      const row = await db.row<{ n: number }>(sql`
        select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
      return (row?.n ?? 0) >= count
    },
    { what: `${count} statements to wait for a lock` },
  )
