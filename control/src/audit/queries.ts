/** The table `audit_log`, each statement confined to a workspace, and the hashes of audited rows. */
import type { Db } from "@superstep/toolkit/db/database"
import { identifier, joinSql, sql } from "@superstep/toolkit/db/sql"
import type { AuditEntry, AuditedKind, NewAuditEntry } from "./audit-entry.js"

export const insertEntry = (tx: Db, it: NewAuditEntry): Promise<number> =>
  tx.run(sql`
    insert into audit_log (workspace_id, actor, key_prefix, ip, action, path, resource_type, resource_id, before_hash,
      after_hash, request_id)
    values (${it.workspaceId}, ${it.actor}, ${it.keyPrefix}, ${it.ip ?? null}, ${it.action}, ${it.path},
      ${it.resourceType ?? null}, ${it.resourceId ?? null}, ${it.beforeHash ?? null}, ${it.afterHash ?? null},
      ${it.requestId ?? null})`)

/** @returns  a hash of a resource's whole row; undefined when the workspace has no such row */
export const stateHash = async (
  db: Db,
  workspaceId: string,
  { table, key }: AuditedKind,
  id: string,
): Promise<string | undefined> => {
  const row = await db.row<{ hash: string }>(sql`
    select encode(sha256(convert_to(to_jsonb(it)::text, 'UTF8')), 'hex') as hash from ${identifier(table)} it
    where it.workspace_id = ${workspaceId} and it.${identifier(key)} = ${id}`)
  return row?.hash
}

export interface AuditFilter {
  readonly workspaceId: string
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly resourceType?: string | undefined
  readonly resourceId?: string | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

/** Newest first. @param before  the number of an entry; undefined: from the newest on */
export const findEntries = (
  db: Db,
  filter: AuditFilter,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<AuditEntry[]> => {
  const where = [sql`workspace_id = ${filter.workspaceId}`]
  if (before !== undefined) where.push(sql`seq < ${before}`)
  if (filter.actor) where.push(sql`actor = ${filter.actor}`)
  if (filter.action) where.push(sql`action = ${filter.action}`)
  if (filter.resourceType) where.push(sql`resource_type = ${filter.resourceType}`)
  if (filter.resourceId) where.push(sql`resource_id = ${filter.resourceId}`)
  if (filter.since) where.push(sql`at >= ${filter.since}`)
  if (filter.until) where.push(sql`at < ${filter.until}`)
  return db.rows(sql`select * from audit_log where ${joinSql(where, " and ")} order by seq desc limit ${limit}`)
}

export interface ChainState {
  readonly entries: number
  /** The hash of the newest entry; null when there is none. */
  readonly head: string | null
  /** The first entry that was altered, or does not follow the one before it; null when the chain is valid. */
  readonly broken_seq: number | null
}

/** Verifies a workspace's whole chain. */
export const chainState = async (db: Db, workspaceId: string): Promise<ChainState> => {
  const row = await db.row<ChainState>(sql`
    with chain as (
      select seq, hash,
        hash is distinct from audit_hash(entry)
          or prev_hash is distinct from lag(hash) over (order by seq)
          or seq is distinct from coalesce(lag(seq) over (order by seq), 0) + 1 as is_broken
      from audit_log entry where workspace_id = ${workspaceId})
    select count(*) as entries, (array_agg(hash order by seq desc))[1] as head,
      min(seq) filter (where is_broken) as broken_seq
    from chain`)
  if (!row) throw new Error("the audit log's chain was not read")
  return row
}
