import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** Ends the leases of a server, or of all, as if they had not been renewed. */
export async function endLeases(db: Db, serverId?: string): Promise<void> {
  const past = sql`lease_until = now() - interval '1 minute'`
  await db.run(sql`update servers set ${past} where ${serverId === undefined} or server_id = ${serverId ?? null}`)
  await db.run(sql`update runs set ${past}
    where status = 'running' and (${serverId === undefined} or claimed_by = ${serverId ?? null})`)
}
