import { Unavailable } from "../errors/errors.js"
import type { Db } from "./database.js"
import { sql } from "./sql.js"

/**
 * Resolves when the database answers.
 * @throws Unavailable  when it does not
 */
export async function pingDatabase(db: Db): Promise<void> {
  try {
    await db.run(sql`select 1`)
  } catch (cause) {
    throw new Unavailable("the database does not answer", 1000, { cause })
  }
}
