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

/**
 * Counts how often a statement reads a table from end to end. That may return few rows and still read a thousand pages of rows that were
 * deleted, which `rowsRead` does not count.
 * @param tx  a transaction: the counters belong to its connection
 */
export async function wholeReads(
  tx: Db,
  tables: readonly string[],
  statement: () => Promise<unknown>,
): Promise<number> {
  const count = async () =>
    (
      await tx.row<{ n: number }>(
        sql`select coalesce(sum(seq_scan), 0)::int as n from pg_stat_xact_user_tables where relname = any (${tables})`,
      )
    )?.n ?? 0
  const before = await count()
  await statement()
  return (await count()) - before
}
