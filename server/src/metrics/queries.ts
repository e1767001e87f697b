import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface RunCounts {
  readonly pending: number
  /** The pending runs that are due. */
  readonly due: number
  readonly running: number
}

/** Counts pending and running runs of all servers. Each count scans a partial index that contains only such runs. */
export const countLiveRuns = async (db: Db): Promise<RunCounts> => {
  const row = await db.row<RunCounts>(sql`
    select (select count(*) from runs where status = 'pending') as pending,
      (select count(*) from runs where status = 'pending' and not_before <= now()) as due,
      (select count(*) from runs where status = 'running') as running`)
  if (!row) throw new Error("counting runs returned nothing")
  return row
}
