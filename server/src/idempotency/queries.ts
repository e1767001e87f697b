/** SQL of the table `idempotency_keys`: the replies to requests, kept for 24 hours. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface Answered {
  readonly requestSha256: Buffer
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body of the reply. */
  readonly body: string
}

/**
 * Takes a key in this transaction. A concurrent transaction with the same key waits until this one commits or rolls back.
 * @returns false when a reply was stored under the key within the last 24 hours
 */
export const takeKey = async (tx: Db, keySha256: Buffer, requestSha256: Buffer): Promise<boolean> => {
  const taken = await tx.run(sql`
    insert into idempotency_keys as k (key_sha256, request_sha256) values (${keySha256}, ${requestSha256})
    on conflict (key_sha256) do update
      set request_sha256 = excluded.request_sha256, status = null, headers = null, body = null, created_at = now()
      where k.created_at < now() - interval '24 hours'`)
  return taken > 0
}

export const storeAnswer = (
  tx: Db,
  keySha256: Buffer,
  { status, headers, body }: Omit<Answered, "requestSha256">,
): Promise<number> =>
  tx.run(sql`
    update idempotency_keys set status = ${status}, headers = ${JSON.stringify(headers)}::jsonb, body = ${body}
    where key_sha256 = ${keySha256}`)

export const findAnswer = (db: Db, keySha256: Buffer): Promise<Answered | undefined> =>
  db.row<Answered>(sql`
    select request_sha256 as "requestSha256", status, headers, body from idempotency_keys
    where key_sha256 = ${keySha256} and created_at >= now() - interval '24 hours'`)

/** Deletes up to 100 expired keys. It runs with each new key, so no background job is needed. */
export const deleteOldKeys = (tx: Db): Promise<number> =>
  tx.run(sql`
    delete from idempotency_keys where key_sha256 in (
      select key_sha256 from idempotency_keys where created_at < now() - interval '24 hours'
      limit 100 for update skip locked)`)
