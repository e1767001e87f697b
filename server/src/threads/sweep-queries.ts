/** Statements on the time to live of threads. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { TtlStrategy } from "./thread.js"

export interface DefaultTtl {
  readonly strategy: TtlStrategy
  readonly minutes: number
}

/** Sets the time to live of threads that are created from now on. @param ttl  undefined: they never expire */
export const setDefaultTtl = (db: Db, ttl: DefaultTtl | undefined): Promise<number> =>
  ttl === undefined
    ? db.run(sql`delete from default_thread_ttl`)
    : db.run(sql`
        insert into default_thread_ttl (strategy, ttl_minutes) values (${ttl.strategy}, ${ttl.minutes})
        on conflict (is_only_row) do update set strategy = excluded.strategy, ttl_minutes = excluded.ttl_minutes`)

export interface SweptThread {
  readonly thread_id: string
  readonly outcome: "deleted" | "pruned" | "partly" | "skipped"
}

/** Deletes or prunes one expired thread. @returns undefined when no thread has expired */
export const sweepThread = (db: Db): Promise<SweptThread | undefined> =>
  db.row<SweptThread>(sql`select * from sweep_thread()`)

/** Removes a portion of the checkpoints of deleted threads. @returns whether there may be more */
export const removePortion = async (db: Db): Promise<boolean> =>
  (await db.row<{ removed: boolean }>(sql`select remove_portion() as removed`))?.removed ?? false

/** Removes the time to live of deleted threads. */
export const forgetTtls = (db: Db): Promise<number> =>
  db.run(sql`
    delete from thread_ttls l where l.expires_at <= now() and not exists (select from threads t where t.thread_id = l.thread_id)`)
