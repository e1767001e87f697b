/** Statements on threads. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { ThreadRow } from "./thread.js"

export const findThread = (db: Db, threadId: string): Promise<ThreadRow | undefined> =>
  db.row<ThreadRow>(sql`
    select thread_id, status, graph_id, assistant_id, metadata, config, values, interrupts, error, created_at, updated_at,
      state_updated_at
    from threads where thread_id = ${threadId}`)

/** @returns the new thread, or undefined when the id is taken */
export const insertThread = (db: Db, threadId: string, metadata: string): Promise<ThreadRow | undefined> =>
  db.row<ThreadRow>(sql`
    insert into threads (thread_id, metadata) values (${threadId}, ${metadata}) on conflict do nothing
    returning thread_id, status, graph_id, assistant_id, metadata, config, values, interrupts, error, created_at,
      updated_at, state_updated_at`)
