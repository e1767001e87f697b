import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/**
 * Counts the rows that a statement reads: a measure of its cost that does not depend on the load of the machine.
 * @param tx     a transaction: the counters belong to its connection
 * @returns      the number of rows of the table that the statement and the functions it calls read
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
