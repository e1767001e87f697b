/**
 * The table `home_in_charge`: the installation, and its process, that has the database. Each session of that process holds a shared
 * advisory lock in its name, which shows whether it lives, and lets its successor end what is left of it.
 */
import { randomUUID } from "node:crypto"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

/** A process that wants the database. */
export interface Candidate {
  readonly homeId: string
  /** The home's id in the database of a backup that it was restored from. Nothing of the present home uses it otherwise. */
  readonly restoredFrom: string | undefined
  /** Of this life of the process. */
  readonly processId: string
  /** Whether another process of the same home may be in charge: otherwise the lock of the data folder proves that it is dead. */
  readonly standsBy: boolean
}

/** For how many seconds one that is in charge may be silent, while its sessions stay. */
export interface Silence {
  readonly ofOtherHome: number
  readonly ofOwnHome: number
  /** Without any session. */
  readonly ofTheDead: number
}

/** Any constant of our own: the class of the advisory locks. */
export const lockClass = 7_283_118
const lockOf = (processId: unknown) => sql`hashtext(${processId})`

/** @returns  false when another one is in charge */
export const takeForProcess = async (
  db: Db,
  { homeId, restoredFrom, processId, standsBy }: Candidate,
  { ofOtherHome, ofOwnHome, ofTheDead }: Silence,
): Promise<boolean> => {
  const isOwn = sql`(it.home_id = excluded.home_id or it.home_id = ${restoredFrom ?? null})`
  const taken = await db.run(sql`
    insert into home_in_charge as it (home_id, process_id) values (${homeId}, ${processId})
    on conflict (only_one) do update
      set home_id = excluded.home_id, process_id = excluded.process_id, seen_at = now()
    where it.process_id = excluded.process_id
      or it.seen_at < now() - interval '1 second' * case when ${isOwn} then ${ofOwnHome}::int else ${ofOtherHome}::int end
      or (${isOwn} and (not ${standsBy}::boolean or it.seen_at < now() - interval '1 second' * ${ofTheDead}::int and not exists (
        select from pg_locks held
        where held.locktype = 'advisory' and held.classid::bigint = ${lockClass} and held.objsubid = 2
          and held.database = (select oid from pg_database where datname = current_database())
          and held.objid::bigint = hashtext(it.process_id)::bigint & 4294967295)))`)
  return taken > 0
}

/** Says that the process is still in charge. @returns  false when it is not */
export const renewForProcess = async (db: Db, processId: string): Promise<boolean> =>
  (await db.run(sql`update home_in_charge set seen_at = now() where process_id = ${processId}`)) > 0

export const releaseForProcess = (db: Db, processId: string): Promise<number> =>
  db.run(sql`delete from home_in_charge where process_id = ${processId}`)

/** Marks a new session as one of the process. @returns  false when that is not in charge, so that the session must not be used */
export async function enterSession(session: Db, processId: string): Promise<boolean> {
  // First the lock, then the look: a successor that comes in between finds the session, and ends it.
  await session.run(sql`select pg_advisory_lock_shared(${lockClass}, ${lockOf(processId)})`)
  const row = await session.row(sql`select from home_in_charge where process_id = ${processId}`)
  return row !== undefined
}

/** Ends the sessions of all other processes. @returns  how many there still were */
export const endOtherSessions = (db: Db, processId: string): Promise<number> =>
  db.run(sql`
    select pg_terminate_backend(held.pid) from pg_locks held
    where held.locktype = 'advisory' and held.classid::bigint = ${lockClass} and held.objsubid = 2
      and held.database = (select oid from pg_database where datname = current_database())
      and held.objid::bigint <> ${lockOf(processId)}::bigint & 4294967295`)

/** The home in charge; undefined when none is. A new database, or one of an older release, lacks the table. */
export async function homeInCharge(db: Db, silentSeconds: number): Promise<string | undefined> {
  const found = await db.row<{ is_there: boolean }>(sql`select to_regclass('home_in_charge') is not null as is_there`)
  if (!found?.is_there) return undefined
  const row = await db.row<{ home_id: string }>(sql`
    select home_id from home_in_charge where seen_at >= now() - ${silentSeconds} * interval '1 second'`)
  return row?.home_id
}

/** Whether the table names processes: that of an older release does not. */
export async function namesProcesses(db: Db): Promise<boolean> {
  const row = await db.row(sql`
    select from pg_attribute
    where attrelid = to_regclass('home_in_charge') and attname = 'process_id' and not attisdropped`)
  return row !== undefined
}

/** The id of an installation that has no data folder of its own: generated at the first call, and the same for everybody on the database. */
export async function installationIdOf(db: Db): Promise<string> {
  await db.run(sql`insert into installation (id) values (${randomUUID()}) on conflict do nothing`)
  const row = await db.row<{ id: string }>(sql`select id from installation`)
  if (!row) throw new Error("the row of the table installation was deleted")
  return row.id
}
