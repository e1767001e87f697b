/** What a database contains, for a test that nothing of it has changed. */
import type { Database } from "@superstep/toolkit/db/database"
import { identifier, type Sql, sql } from "@superstep/toolkit/db/sql"

/** @param rowsOf  a column `it` with the text of each row of a table; its whole rows by default */
export async function everyRow(
  db: Database,
  rowsOf = (name: string): Sql => sql`select t::text as it from ${identifier(name)} t`,
): Promise<Record<string, string>> {
  const tables = await db.rows<{ name: string }>(sql`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' order by table_name`)
  const entries = tables.map(async ({ name }) => {
    const row = await db.row<{ rows: string }>(sql`
      select coalesce(string_agg(it, ${"\n"} order by it), '') as rows from (${rowsOf(name)}) as rows`)
    return [name, row?.rows ?? ""] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
