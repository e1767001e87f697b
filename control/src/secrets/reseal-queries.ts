/** SQL over all encrypted columns, and the row that names their master key. */
import type { Db } from "@superstep/toolkit/db/database"
import { identifier, joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import type { KeyOfRow, SealedColumn } from "./sealed-columns.js"

/** Inside a transaction nobody else can change it until that has ended. */
export const sealingKeyId = async (db: Db): Promise<string | undefined> =>
  (await db.row<{ key_id: string }>(sql`select key_id from master_key for update`))?.key_id

/** Of two first starts at once, one writes the row and the other reads it. */
export const nameFirstKey = (db: Db, keyId: string): Promise<number> =>
  db.run(sql`insert into master_key (key_id) values (${keyId}) on conflict do nothing`)

export const nameNextKey = (db: Db, keyId: string): Promise<number> =>
  db.run(sql`
    insert into master_key (key_id) values (${keyId})
    on conflict (only_one) do update set key_id = excluded.key_id, sealed_at = now()`)

/** The ids of the keys that stored values are encrypted with. */
export const keyIdsInUse = async (db: Db, columns: readonly SealedColumn[]): Promise<string[]> => {
  const parts = columns.map(
    ({ table, column, isArray }) => sql`
      select split_part(sealed, '.', 2) as key_id
      from ${identifier(table)}, unnest(${isArray ? identifier(column) : sql`array[${identifier(column)}]`}) as sealed
      where sealed is not null`,
  )
  return (await db.rows<{ key_id: string }>(joinSql(parts, " union "))).map(({ key_id }) => key_id)
}

export type SealedRow = KeyOfRow & { readonly sealed: string[] }

const cursorOf = ({ table }: SealedColumn): Sql => identifier(`sealed_${table}`)

/**
 * Reads a column in pieces, from one snapshot: a thousand rows take few round trips and little memory. Call it in a
 * transaction.
 */
export async function* readSealed(tx: Db, column: SealedColumn): AsyncGenerator<SealedRow[]> {
  const { table, owner, hasWorkspace, isArray } = column
  const value = sql`t.${identifier(column.column)}`
  const keys = Object.keys(column.keys).map((name) => sql`t.${identifier(name)}`)
  const workspace = hasWorkspace ? [sql`${owner ? sql`o` : sql`t`}.workspace_id`] : []
  const sealed = sql`${isArray ? value : sql`array[${value}]`} as sealed`
  const join = owner
    ? sql`join ${identifier(owner.table)} o on o.${identifier(owner.key)} = t.${identifier(owner.key)}`
    : sql``
  await tx.run(sql`
    declare ${cursorOf(column)} no scroll cursor for
    select ${joinSql([...keys, ...workspace, sealed], ", ")} from ${identifier(table)} t ${join}
    where ${value} is not null`)
  for (;;) {
    const rows = await tx.rows<SealedRow>(sql`fetch 1000 from ${cursorOf(column)}`)
    if (rows.length === 0) break
    yield rows
  }
  await tx.run(sql`close ${cursorOf(column)}`)
}

/** Writes new encrypted values into the same rows. */
export const writeSealed = (tx: Db, column: SealedColumn, rows: readonly SealedRow[]): Promise<number> => {
  const names = Object.keys(column.keys)
  const lists = Object.entries(column.keys).map(
    ([name, type]) => sql`${rows.map((row) => row[name])}::${identifier(type)}[]`,
  )
  const sealed = rows.map((row) => (column.isArray ? JSON.stringify(row.sealed) : row.sealed[0]))
  const value = column.isArray ? sql`array(select json_array_elements_text(v.sealed::json))` : sql`v.sealed`
  return tx.run(sql`
    update ${identifier(column.table)} t set ${identifier(column.column)} = ${value}
    from unnest(${joinSql([...lists, sql`${sealed}::text[]`], ", ")})
      as v (${joinSql([...names.map(identifier), sql`sealed`], ", ")})
    where ${joinSql(
      names.map((name) => sql`t.${identifier(name)} = v.${identifier(name)}`),
      " and ",
    )}`)
}
