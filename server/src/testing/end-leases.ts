import type { Database, Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** Ends the leases of a server, or of all, as if they had not been renewed. */
export async function endLeases(db: Db, serverId?: string): Promise<void> {
  const past = sql`lease_until = now() - interval '1 minute'`
  await db.run(sql`update servers set ${past} where ${serverId === undefined} or server_id = ${serverId ?? null}`)
  await db.run(sql`update runs set ${past}
    where status = 'running' and (${serverId === undefined} or claimed_by = ${serverId ?? null})`)
}

/**
 * Acts while the leases of all servers are over, in one transaction: a server that lives may renew its lease at any moment, and so
 * waits for the end of it.
 */
export const whileLeasesAreOver = <T>(db: Database, act: (tx: Db) => Promise<T>): Promise<T> =>
  db.transaction(async (tx) => {
    // Threads first, as everywhere.
    await tx.run(sql`select from threads for update`)
    // A server may also be about to register: then it would have a lease again.
    await tx.run(sql`lock table servers in share row exclusive mode`)
    await endLeases(tx)
    return await act(tx)
  })
