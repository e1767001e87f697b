/** The table `listener_tokens`, and when a listener called last. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { ListenerToken } from "./token.js"

const columns = sql`token_id, listener_id, name, prefix, home_id, created_at, revoked_at`

export const insertToken = (
  db: Db,
  it: { id: string; listenerId: string; name: string; prefix: string; sha256: string },
): Promise<ListenerToken | undefined> =>
  db.row(sql`
    insert into listener_tokens (token_id, listener_id, name, prefix, sha256)
    values (${it.id}, ${it.listenerId}, ${it.name}, ${it.prefix}, ${it.sha256}) returning ${columns}`)

/** Oldest first. */
export const tokensOf = (db: Db, listenerId: string): Promise<ListenerToken[]> =>
  db.rows(sql`
    select ${columns} from listener_tokens where listener_id = ${listenerId} order by created_at, token_id`)

/** @returns  0 when the listener has no valid token with this id */
export const markRevoked = (db: Db, listenerId: string, tokenId: string): Promise<number> =>
  db.run(sql`
    update listener_tokens set revoked_at = now()
    where listener_id = ${listenerId} and token_id = ${tokenId} and revoked_at is null`)

export interface PresentedToken {
  readonly listener_id: string
  readonly workspace_id: string
  readonly home_id: string | null
}

/** A valid token. Binds it to the installation that uses it first, and records when its listener called. */
export const presentedToken = async (
  db: Db,
  sha256: string,
  { homeId, version }: { homeId: string; version: string },
): Promise<PresentedToken | undefined> => {
  await db.run(sql`
    update listener_tokens set home_id = ${homeId}
    where sha256 = ${sha256} and revoked_at is null and home_id is null`)
  const token = await db.row<PresentedToken>(sql`
    select t.listener_id, l.workspace_id, t.home_id from listener_tokens t join listeners l using (listener_id)
    where t.sha256 = ${sha256} and t.revoked_at is null`)
  if (token?.home_id === homeId) {
    await db.run(sql`
      update listeners set last_seen_at = now(), version = ${version}
      where listener_id = ${token.listener_id}
        and (coalesce(last_seen_at < now() - interval '10 seconds', true) or version is distinct from ${version})`)
  }
  return token
}
