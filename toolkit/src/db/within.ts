/** Adapts an open transaction for code that opens its own. */
import type { Database, Db } from "./database.js"
import { sql } from "./sql.js"
import { isLostConnection } from "./unavailable.js"

/**
 * A database whose statements are all part of `tx`. A transaction in it is a savepoint: an error undoes only that part, and
 * its writes commit with the rest. Work in it runs one after the other.
 */
export const within = (db: Database, tx: Db): Database => {
  const nested: Database = {
    ...db,
    rows: tx.rows,
    row: tx.row,
    run: tx.run,
    transaction: async (work) => {
      await tx.run(sql`savepoint part`)
      try {
        const result = await work(nested)
        await tx.run(sql`release savepoint part`)
        return result
      } catch (error) {
        // On a lost connection there is nothing to undo, and a silent one would not answer; the first error is thrown.
        if (!isLostConnection(error)) await tx.run(sql`rollback to savepoint part`).catch(() => undefined)
        throw error
      }
    },
  }
  return nested
}
