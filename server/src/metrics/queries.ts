import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface RunCounts {
  readonly pending: number
  /** Those of the pending ones whose time has come. */
  readonly due: number
  readonly running: number
}

/** How many runs are not over, of all servers. Each count is a scan of a partial index that holds no others. */
export const countLiveRuns = async (db: Db): Promise<RunCounts> => {
  const row = await db.row<RunCounts>(sql`
    select (select count(*) from runs where status = 'pending') as pending,
      (select count(*) from runs where status = 'pending' and not_before <= now()) as due,
      (select count(*) from runs where status = 'running') as running`)
  if (!row) throw new Error("counting runs returned nothing")
  return row
}
