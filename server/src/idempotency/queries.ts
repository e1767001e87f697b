/** The table `idempotency_keys`: what was answered to which request, for a day. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface Answered {
  readonly requestSha256: Buffer
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The text as it was sent. */
  readonly body: string
}

/**
 * Takes a key for this transaction. A second taker waits here until the first commits or rolls back.
 * @returns false when the key was answered within the last day
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

/** Forgets a few old keys with each new one, so that nothing else has to; rows that another one forgets are left to it. */
export const forgetOldKeys = (tx: Db): Promise<number> =>
  tx.run(sql`
    delete from idempotency_keys where key_sha256 in (
      select key_sha256 from idempotency_keys where created_at < now() - interval '24 hours'
      limit 100 for update skip locked)`)
