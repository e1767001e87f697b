import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/**
 * Counts what a statement costs in rows, which no busy machine changes.
 * @param tx     a transaction: the counters are those of its connection
 * @returns      how many rows of the table the statement and the functions that it calls have read
 */
export async function rowsRead(tx: Db, table: string, statement: () => Promise<unknown>): Promise<number> {
  const count = async () =>
    (
      await tx.row<{ n: number }>(
        sql`select seq_tup_read + idx_tup_fetch as n from pg_stat_xact_user_tables where relname = ${table}`,
      )
    )?.n ?? 0
  const before = await count()
  await statement()
  return (await count()) - before
}
