/** Writes the audit log together with the changes, reads it, and verifies that it was not altered. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { isUuid } from "@superstep/toolkit/text/is-uuid"
import { type AuditEntry, changedFields } from "./audit-entry.js"
import { type CurrentWrite, currentWrite } from "./current-write.js"
import {
  type AuditFilter,
  type ChainState,
  chainState,
  findEntries,
  insertEntry,
  lockWorkspace,
  type RowState,
  stateOfRow,
} from "./queries.js"

/**
 * The database for routes: a transaction of a writing request also writes its entry (A1). A rollback leaves none.
 */
export function auditedDatabase(db: Database): Database {
  const transaction: Database["transaction"] = async (work) => {
    const write = currentWrite()
    if (!write) return db.transaction(work)
    const result = await db.transaction(async (tx) => {
      const before = await stateBefore(tx, write)
      const worked = await work(tx)
      if (!write.hasNoEffect) await record(tx, write, before)
      return worked
    })
    write.isRecorded = true
    return result
  }
  return { ...db, transaction }
}

/** For a write without a transaction: its entry is written after it. */
export const recordAfterwards = async (db: Db, write: CurrentWrite): Promise<void> => {
  if (!write.isRecorded && !write.hasNoEffect) await record(db, write, undefined)
}

/** For an action that must be in the log before it happens: the entry exists when this returns. */
export async function recordNow(db: Db): Promise<void> {
  const write = currentWrite()
  if (!write) throw new Error("this request is not audited")
  await record(db, write, undefined)
  write.isRecorded = true
}

async function record(tx: Db, write: CurrentWrite, before: RowState | undefined): Promise<void> {
  const after = await stateOf(tx, write)
  const named = after ?? before
  await insertEntry(tx, {
    ...write,
    resourceType: write.kind?.type,
    resourceName: write.resourceName ?? (named && nameIn(named, write)),
    changed: before && after && [...changedFields(before.fields, after.fields), ...write.changedToo].sort(),
    beforeHash: before?.hash,
    afterHash: after?.hash,
  })
}

function nameIn({ fields }: RowState, { kind }: CurrentWrite): string | undefined {
  const name = kind?.name === undefined ? undefined : fields[kind.name]
  return typeof name === "string" ? name : undefined
}

/** Other actors do not change the row between this and the end of the transaction. */
async function stateBefore(tx: Db, write: CurrentWrite): Promise<RowState | undefined> {
  const lock = write.kind?.lock
  if (lock === "workspace") await lockWorkspace(tx, write.workspaceId)
  return stateOf(tx, write, lock === "row")
}

const stateOf = async (
  tx: Db,
  { workspaceId, kind, resourceId }: CurrentWrite,
  isLocked = false,
): Promise<RowState | undefined> =>
  kind?.table !== undefined && resourceId !== undefined && isUuid(resourceId)
    ? stateOfRow(tx, { workspaceId, table: kind.table, key: kind.key, id: resourceId }, isLocked)
    : undefined

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  /** Cursor of the next, older page; null at the end. */
  readonly nextCursor: string | null
}

/** A page of a workspace's entries, newest first. */
export async function listAudit(
  db: Db,
  filter: AuditFilter,
  { cursor, limit }: { cursor: number | undefined; limit: number },
): Promise<AuditPage> {
  const entries = await findEntries(db, filter, { before: cursor, limit })
  const last = entries.at(-1)
  return { entries, nextCursor: last && entries.length === limit ? String(last.seq) : null }
}

/**
 * Verifies the hash chain of a workspace (A2). If entries were cut off its end, the rest is still a valid chain: compare the
 * count and the head with earlier ones.
 */
export const verifyAudit = (db: Db, workspaceId: string): Promise<ChainState> => chainState(db, workspaceId)
