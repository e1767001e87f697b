/** A transaction that is under way, for what was written to open its own. */
import type { Database, Db } from "./database.js"
import { sql } from "./sql.js"

/**
 * A database whose statements are all part of `tx`. A transaction in it is a savepoint: an error undoes that part alone,
 * and what it wrote commits with the rest. Work in it goes one after the other.
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
        // A connection that is gone has nothing to undo; the first error is the one to tell.
        await tx.run(sql`rollback to savepoint part`).catch(() => undefined)
        throw error
      }
    },
  }
  return nested
}
