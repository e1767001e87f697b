/** Encrypts all stored values again, with another master key (S8). */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, KnownError } from "@superstep/toolkit/errors/errors"
import { nameNextKey, readSealed, type SealedRow, sealingKeyId, writeSealed } from "./reseal-queries.js"
import { CannotOpen, type MasterKey, open, seal } from "./seal.js"
import { type SealedColumn, sealedColumns } from "./sealed-columns.js"

/** Some values cannot be opened with either key, so nothing was changed. */
export class CannotReseal extends KnownError {
  readonly code = "cannot_reseal"
}

// Enough to see what the rows have in common.
const mostNamed = 20

/**
 * One transaction: all values and the name of their key change, or nothing does.
 * @returns  the number of values
 * @throws CannotReseal  naming the rows that cannot be opened
 * @throws Conflict      the database is encrypted with another key than `from`
 */
export function reseal(db: Database, { from, to }: { from: MasterKey; to: MasterKey }): Promise<number> {
  return db.transaction(async (tx) => {
    const named = await sealingKeyId(tx)
    if (named !== undefined && named !== from.id) {
      throw new Conflict(`the database is encrypted with the master key ${named}, not ${from.id}`)
    }
    let count = 0
    const unreadable: string[] = []
    for (const column of sealedColumns) count += await resealColumn(tx, column, { from, to, unreadable })
    if (unreadable.length > 0) throw new CannotReseal(wordsFor(unreadable))
    await nameNextKey(tx, to.id)
    return count
  })
}

async function resealColumn(
  tx: Db,
  column: SealedColumn,
  { from, to, unreadable }: { from: MasterKey; to: MasterKey; unreadable: string[] },
): Promise<number> {
  let count = 0
  for await (const rows of readSealed(tx, column)) {
    const sealedAgain = rows.flatMap((row) => {
      const context = column.context(row)
      const values = row.sealed.map((sealed) => openWith([from, to], sealed, context))
      if (!values.every((value) => value !== undefined)) {
        unreadable.push(nameOf(column, row))
        return []
      }
      count += values.length
      return [{ ...row, sealed: values.map((value) => seal(to, value, context)) }]
    })
    await writeSealed(tx, column, sealedAgain)
  }
  return count
}

function openWith(keys: readonly MasterKey[], sealed: string, context: readonly (string | number)[]) {
  for (const key of keys) {
    try {
      return open(key, sealed, context)
    } catch (error) {
      if (!(error instanceof CannotOpen)) throw error
    }
  }
  return undefined
}

const nameOf = ({ table, keys }: SealedColumn, row: SealedRow): string =>
  `${table} (${Object.keys(keys)
    .map((name) => `${name} ${row[name]}`)
    .join(", ")})`

function wordsFor(unreadable: readonly string[]): string {
  const more = unreadable.length > mostNamed ? ` and ${unreadable.length - mostNamed} more` : ""
  return `nothing was changed: these values cannot be decrypted with the master key: ${unreadable.slice(0, mostNamed).join("; ")}${more}. Delete them, or restore the key they were encrypted with`
}
