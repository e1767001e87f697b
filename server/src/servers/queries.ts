/** SQL of the table `servers`: which servers share this database, and which of them have free slots. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import type { Room, WaitingRun } from "./server.js"

// A server writes its row three times in this period. A killed server may receive hints for at most this long. Those are
// lost, and other servers find the runs at their next poll.
export const seenForMs = 60_000

/** Condition on a row of `servers`: the server wrote its row recently. */
export const isAlive = (): Sql => sql`seen_at > now() - make_interval(secs => ${seenForMs / 1000})`

/** Writes a server's free slots, and deletes rows of servers that are gone. */
export const putServer = (
  db: Db,
  { serverId, revisionId }: { readonly serverId: string; readonly revisionId: string | null },
  { freeSlots, freeSoloSlots }: Room,
): Promise<number> =>
  db.run(sql`
    with forgotten as (delete from servers where server_id <> ${serverId} and seen_at < now() - interval '1 hour')
    insert into servers (server_id, revision_id, free_slots, free_solo_slots)
    values (${serverId}, ${revisionId}, ${freeSlots}, ${freeSoloSlots})
    on conflict (server_id) do update set revision_id = excluded.revision_id, free_slots = excluded.free_slots,
      free_solo_slots = excluded.free_solo_slots, seen_at = now()`)

export const removeServer = (db: Db, serverId: string): Promise<number> =>
  db.run(sql`delete from servers where server_id = ${serverId}`)

/** How many other servers share the database. */
export const countOtherServers = async (db: Db, serverId: string): Promise<number> => {
  const row = await db.row<{ n: number }>(
    sql`select count(*) as n from servers where server_id <> ${serverId} and ${isAlive()}`,
  )
  return row?.n ?? 0
}

/** A random other server that may execute a run and has a free slot for it. */
export const findServerWithRoom = async (
  db: Db,
  { revisionId, runsAlone }: WaitingRun,
  except: string,
): Promise<string | undefined> => {
  const row = await db.row<{ server_id: string }>(sql`
    select server_id from servers
    where server_id <> ${except} and ${isAlive()}
      and (revision_id is null or ${revisionId}::text is null or revision_id = ${revisionId})
      and ${runsAlone ? sql`free_solo_slots` : sql`free_slots`} > 0
    order by random() limit 1`)
  return row?.server_id
}
