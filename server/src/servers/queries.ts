/** SQL of the table `servers`: which servers share this database, and which of them have free slots. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import type { Claimer, Room, WaitingRun } from "./server.js"

// A server of the release before has no lease, also in a row that has one. It writes `seen_at` three times in this period.
const seenForSeconds = 60

/** Condition on a row of `servers`: the server may live. A killed server receives hints until then; those are lost. */
export const isAlive = (): Sql =>
  sql`greatest(lease_until, seen_at + make_interval(secs => ${seenForSeconds})) > superstep_now()`

/** Writes a server's row: its lease and its free slots. Deletes rows of servers that are gone. */
export const renewServer = (
  db: Db,
  { serverId, revisionId, leaseMs }: Claimer,
  { freeSlots, freeSoloSlots }: Room,
): Promise<number> =>
  db.run(sql`
    with forgotten as (delete from servers where server_id <> ${serverId} and seen_at < superstep_now() - interval '1 hour')
    insert into servers (server_id, revision_id, free_slots, free_solo_slots, seen_at, lease_until)
    values (${serverId}, ${revisionId}, ${freeSlots}, ${freeSoloSlots}, superstep_now(), superstep_now() + make_interval(secs => ${leaseMs} / 1000.0))
    on conflict (server_id) do update set revision_id = excluded.revision_id, free_slots = excluded.free_slots,
      free_solo_slots = excluded.free_solo_slots, seen_at = excluded.seen_at, lease_until = excluded.lease_until`)

/** Records the runs and threads whose logs a server reads for its clients; no other server deletes these logs. */
export const noteLogsRead = (db: Db, serverId: string, ids: readonly string[]): Promise<number> =>
  db.run(
    sql`update servers set reads_logs = ${ids}::uuid[] where server_id = ${serverId} and reads_logs <> ${ids}::uuid[]`,
  )

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
