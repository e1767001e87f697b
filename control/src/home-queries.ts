/** The table `home_in_charge`: the data folder that has the database. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** @returns  false when another folder's control plane used the database within that many seconds */
export const takeForHome = async (db: Db, homeId: string, silentSeconds: number): Promise<boolean> => {
  const taken = await db.run(sql`
    insert into home_in_charge as it (home_id) values (${homeId})
    on conflict (only_one) do update set home_id = excluded.home_id, seen_at = now()
    where it.home_id = excluded.home_id or it.seen_at < now() - ${silentSeconds} * interval '1 second'`)
  return taken > 0
}

export const releaseHome = (db: Db, homeId: string): Promise<number> =>
  db.run(sql`delete from home_in_charge where home_id = ${homeId}`)

/** Whether the table exists: a new database, or one of an older release, lacks it. */
export async function hasHomeTable(db: Db): Promise<boolean> {
  const row = await db.row<{ is_there: boolean }>(sql`select to_regclass('home_in_charge') is not null as is_there`)
  return row?.is_there ?? false
}
