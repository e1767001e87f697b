import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** Resolves when the database answers. */
export const ping = (db: Db): Promise<number> => db.run(sql`select 1`)
