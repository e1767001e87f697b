/** Statements on checkpoints. The rules (C1 …) are in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { toJsonbText } from "@superstep/toolkit/db/jsonb"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import { ClaimLost, type Fence } from "../workers/fence.js"
import {
  type CheckpointAddress,
  type CheckpointTuple,
  type NewCheckpoint,
  type PendingWrite,
  replaceEarlier,
  withoutRepeats,
} from "./checkpoint.js"

/**
 * Saves a checkpoint with its new blobs in one round trip (C1, C2). Saving it again replaces checkpoint and metadata.
 * @param fence  the claim that the write belongs to; undefined for a write of the API
 * @throws ClaimLost  and nothing was written
 */
export async function putCheckpoint(db: Db, fence: Fence | undefined, put: NewCheckpoint): Promise<void> {
  const { starts, sizes, bytes } = joined(put.blobs.map((blob) => blob.bytes))
  const row = await db.row<{ held: boolean }>(sql`
    select put_checkpoint(${fence?.runId ?? null}, ${fence?.claimId ?? null}, ${put.threadId}, ${put.checkpointNs},
      ${put.checkpointId}, ${put.parentCheckpointId}, ${toJsonbText(put.checkpoint)}, ${toJsonbText(put.metadata)},
      ${put.blobs.map((blob) => blob.channel)}, ${put.blobs.map((blob) => blob.version)},
      ${put.blobs.map((blob) => blob.type)}, ${starts}, ${sizes}, ${bytes}) as held`)
  if (fence && !row?.held) throw new ClaimLost(fence.runId)
}

/**
 * Saves writes of tasks of a super-step that has not ended, in one round trip (C1, C4).
 * @throws ClaimLost  and nothing was written
 */
export async function putWrites(
  db: Db,
  fence: Fence | undefined,
  { threadId, checkpointNs, checkpointId }: CheckpointAddress,
  all: readonly PendingWrite[],
): Promise<void> {
  const replaces = replaceEarlier(all)
  const writes = withoutRepeats(all, replaces)
  const { starts, sizes, bytes } = joined(writes.map((write) => write.bytes))
  const row = await db.row<{ held: boolean }>(sql`
    select put_checkpoint_writes(${fence?.runId ?? null}, ${fence?.claimId ?? null}, ${threadId}, ${checkpointNs},
      ${checkpointId}, ${replaces}, ${writes.map((write) => write.taskId)}, ${writes.map((write) => write.taskPath)},
      ${writes.map((write) => write.idx)}, ${writes.map((write) => write.channel)},
      ${writes.map((write) => write.type)}, ${starts}, ${sizes}, ${bytes}) as held`)
  if (fence && !row?.held) throw new ClaimLost(fence.runId)
}

// All bytes travel in one binary parameter: as elements of an array they would be sent as hex, twice the size.
function joined(parts: readonly (Buffer | null)[]) {
  let next = 1
  const starts = parts.map((part) => {
    const start = part ? next : null
    next += part?.length ?? 0
    return start
  })
  const present = parts.filter((part) => part !== null)
  return { starts, sizes: parts.map((part) => part?.length ?? null), bytes: Buffer.concat(present) }
}

export interface CheckpointQuery {
  readonly threadId: string
  /** Undefined means every namespace. */
  readonly checkpointNs?: string | undefined
  readonly checkpointId?: string | undefined
  /** Only checkpoints older than this id. */
  readonly before?: string | undefined
  /** What the metadata must contain. */
  readonly filter?: Readonly<Record<string, unknown>> | undefined
  readonly limit?: number | undefined
}

interface PartRow {
  readonly part: "checkpoint" | "blob" | "write"
  readonly checkpoint_ns: string
  readonly checkpoint_id: string
  readonly parent_checkpoint_id: string | null
  readonly checkpoint: string | null
  readonly metadata: string | null
  readonly channel: string
  readonly version: string
  readonly type: string
  readonly task_id: string
  readonly task_path: string
  readonly idx: number
  readonly bytes: Buffer | null
}

/** Checkpoints with their blobs and pending writes, newest first, all as of one moment (C3). */
export async function findCheckpoints(db: Db, query: CheckpointQuery): Promise<CheckpointTuple[]> {
  const rows = await db.rows<PartRow>(sql`
    with found as materialized (
      select checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata from checkpoints
      where ${joinSql(conditions(query), " and ")}
      order by checkpoint_id desc limit ${query.limit ?? null}
    )
    select 'checkpoint' as part, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint::text, metadata::text,
      '' as channel, '' as version, '' as type, '' as task_id, '' collate "C" as task_path, 0 as idx, null::bytea as bytes
    from found
    union all
    select 'blob', f.checkpoint_ns, f.checkpoint_id, null, null, null, b.channel, b.version, b.type, '', '', 0, b.blob
    from found f cross join jsonb_each_text(f.checkpoint -> 'channel_versions') as v (channel, version)
      join checkpoint_blobs b on b.thread_id = ${query.threadId} and b.checkpoint_ns = f.checkpoint_ns
        and b.channel = v.channel and b.version = v.version
    union all
    select 'write', f.checkpoint_ns, f.checkpoint_id, null, null, null, w.channel, '', w.type, w.task_id, w.task_path,
      w.idx, w.blob
    from found f join checkpoint_writes w on w.thread_id = ${query.threadId} and w.checkpoint_ns = f.checkpoint_ns
      and w.checkpoint_id = f.checkpoint_id
    order by checkpoint_id desc, task_path, task_id, idx`)
  return assembled(rows)
}

const conditions = ({ threadId, checkpointNs, checkpointId, before, filter }: CheckpointQuery): Sql[] => [
  sql`thread_id = ${threadId}`,
  ...(checkpointNs === undefined ? [] : [sql`checkpoint_ns = ${checkpointNs}`]),
  ...(checkpointId === undefined ? [] : [sql`checkpoint_id = ${checkpointId}`]),
  ...(before === undefined ? [] : [sql`checkpoint_id < ${before}`]),
  ...(filter === undefined ? [] : [sql`metadata @> ${toJsonbText(JSON.stringify(filter))}::jsonb`]),
]

function assembled(rows: readonly PartRow[]): CheckpointTuple[] {
  const tuples = new Map<string, CheckpointTuple>()
  for (const row of rows) if (row.part === "checkpoint") tuples.set(placeOf(row), emptyTuple(row))
  for (const { channel, version, type, bytes, ...row } of rows) {
    const tuple = tuples.get(placeOf(row))
    if (row.part === "blob") tuple?.blobs.push({ channel, version, type, bytes })
    if (row.part === "write") {
      const { task_id: taskId, task_path: taskPath, idx } = row
      tuple?.writes.push({ taskId, taskPath, idx, channel, type, bytes: bytes ?? Buffer.alloc(0) })
    }
  }
  return [...tuples.values()]
}

const placeOf = (row: Pick<PartRow, "checkpoint_ns" | "checkpoint_id">) => `${row.checkpoint_id} ${row.checkpoint_ns}`

const emptyTuple = (row: PartRow): CheckpointTuple => ({
  checkpointNs: row.checkpoint_ns,
  checkpointId: row.checkpoint_id,
  parentCheckpointId: row.parent_checkpoint_id,
  checkpoint: row.checkpoint ?? "{}",
  metadata: row.metadata ?? "{}",
  blobs: [],
  writes: [],
})
