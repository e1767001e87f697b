/** The table `audit_log`, each statement confined to a workspace, and the audited rows. */
import { createHash } from "node:crypto"
import type { Db } from "@superstep/toolkit/db/database"
import { identifier, joinSql, sql } from "@superstep/toolkit/db/sql"
import type { AuditEntry, NewAuditEntry, RowFields } from "./audit-entry.js"
import { actorText } from "./audit-entry.js"

export const insertEntry = (tx: Db, it: NewAuditEntry): Promise<number> => {
  const { actor } = it
  const [name, prefix] = "personId" in actor ? [actor.name, null] : [null, actor.keyPrefix]
  return tx.run(sql`
    insert into audit_log (audit_id, at, workspace_id, actor, actor_name, key_prefix, ip, action, path, resource_type, resource_id, resource_name,
      changed, before_hash, after_hash, request_id)
    values (coalesce(${it.id ?? null}::uuid, gen_random_uuid()), coalesce(${it.at ?? null}::timestamptz, clock_timestamp()), ${it.workspaceId}, ${actorText(actor)}, ${name}, ${prefix}, ${it.ip ?? null}, ${it.action}, ${it.path},
      ${it.resourceType ?? null}, ${it.resourceId ?? null}, ${it.resourceName ?? null}, ${it.changed ?? null},
      ${it.beforeHash ?? null}, ${it.afterHash ?? null}, ${it.requestId ?? null})
    on conflict (audit_id) do nothing`)
}

export interface RowState {
  /** Of the whole row, SHA-256 in hex. */
  readonly hash: string
  readonly fields: RowFields
}

export interface PlacedRow {
  readonly workspaceId: string
  readonly table: string
  /** The column with the id. */
  readonly key: string
  readonly id: string
}

/** A resource's whole row; undefined when the workspace has no such row. @param isLocked  until the transaction ends */
export async function stateOfRow(
  db: Db,
  { workspaceId, table, key, id }: PlacedRow,
  isLocked: boolean,
): Promise<RowState | undefined> {
  const row = await db.row<{ fields: string }>(sql`
    select to_jsonb(it)::text as fields from ${identifier(table)} it
    where it.workspace_id = ${workspaceId} and it.${identifier(key)} = ${id} ${isLocked ? sql`for update` : sql``}`)
  return (
    row && {
      hash: createHash("sha256").update(row.fields).digest("hex"),
      fields: JSON.parse(row.fields) as RowFields,
    }
  )
}

/** As that of workspaces/queries.ts, a folder that imports this one. */
export const lockWorkspace = (tx: Db, workspaceId: string): Promise<number> =>
  tx.run(sql`select 1 from workspaces where workspace_id = ${workspaceId} for no key update`)

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
