/** The table `idempotency_keys`: replies by request, for a day. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface AnsweredRequest {
  readonly request_sha256: string
  readonly status: number
  /** The body's JSON text as it was sent. */
  readonly reply: string
}

/**
 * Takes a key for this transaction. A concurrent one waits here until the first commits or rolls back.
 * @returns  false when the key was answered within the last day
 */
export const takeIdempotencyKey = async (
  tx: Db,
  { workspaceId, key, sha256 }: { workspaceId: string; key: string; sha256: string },
): Promise<boolean> => {
  const taken = await tx.run(sql`
    insert into idempotency_keys as k (workspace_id, key, request_sha256) values (${workspaceId}, ${key}, ${sha256})
    on conflict (workspace_id, key) do update
      set request_sha256 = excluded.request_sha256, status = null, reply = null, created_at = now()
      where k.created_at < now() - interval '24 hours'`)
  return taken > 0
}

export const storeReply = (
  tx: Db,
  { workspaceId, key, status, reply }: { workspaceId: string; key: string; status: number; reply: string },
): Promise<number> =>
  tx.run(sql`
    update idempotency_keys set status = ${status}, reply = ${reply}
    where workspace_id = ${workspaceId} and key = ${key}`)

export const answeredRequest = (tx: Db, workspaceId: string, key: string): Promise<AnsweredRequest | undefined> =>
  tx.row(sql`
    select request_sha256, status, reply from idempotency_keys where workspace_id = ${workspaceId} and key = ${key}`)

/** Runs outside of requests: a request that deleted others' keys would lock them as long as its own work takes. */
export const deleteOldKeys = (db: Db): Promise<number> =>
  db.run(sql`delete from idempotency_keys where created_at < now() - interval '24 hours'`)
