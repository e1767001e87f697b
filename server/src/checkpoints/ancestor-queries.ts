/** What a checkpoint's delta channels are rebuilt from. The rule (C7) is in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Blob, PendingWrite } from "./checkpoint.js"

/** The values of delta channels, as LangGraph stores them. */
export interface DeltaHistory {
  /** The nearest stored value among the ancestors; a channel without one begins empty. */
  readonly stored: readonly Blob[]
  /** What was written since, oldest first. Those of the checkpoint itself belong to its children. */
  readonly writes: readonly PendingWrite[]
}

export interface DeltaQuery {
  readonly threadId: string
  readonly checkpointNs: string
  /** Undefined means the newest of the namespace. */
  readonly checkpointId: string | undefined
  readonly channels: readonly string[]
}

interface PartRow {
  readonly part: "target" | "blob" | "write"
  readonly channel: string
  readonly version: string
  readonly type: string
  readonly task_id: string
  readonly task_path: string
  readonly idx: number
  readonly bytes: Buffer | null
}

/**
 * Walks from a checkpoint up its parents, for each channel to the nearest stored value; all as of one moment (C3).
 * @returns undefined when there is no such checkpoint
 */
export async function findDeltaHistory(
  db: Db,
  { threadId, checkpointNs, checkpointId, channels }: DeltaQuery,
): Promise<DeltaHistory | undefined> {
  const named = checkpointId === undefined ? sql`true` : sql`checkpoint_id = ${checkpointId}`
  const [target, ...rows] = await db.rows<PartRow>(sql`
    with recursive target as (
      select parent_checkpoint_id from checkpoints
      where thread_id = ${threadId} and checkpoint_ns = ${checkpointNs} and not is_replay_only and ${named}
      order by checkpoint_id desc limit 1),
    -- Each with the channels that are still looked for when it is reached.
    walk (depth, checkpoint_id, parent_checkpoint_id, versions, channels) as (
      select 1, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint -> 'channel_versions', ${channels}::text[]
      from target t join checkpoints c on c.thread_id = ${threadId} and c.checkpoint_ns = ${checkpointNs}
        and c.checkpoint_id = t.parent_checkpoint_id
      union all
      select w.depth + 1, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint -> 'channel_versions', rest.channels
      from walk w
        cross join lateral (select array(
          select open.channel from unnest(w.channels) as open (channel)
          where not exists (
            select from checkpoint_blobs b where b.thread_id = ${threadId} and b.checkpoint_ns = ${checkpointNs}
              and b.channel = open.channel and b.version = w.versions ->> open.channel and b.type <> 'empty'
          )) as channels) as rest
        join checkpoints c on c.thread_id = ${threadId} and c.checkpoint_ns = ${checkpointNs}
          and c.checkpoint_id = w.parent_checkpoint_id
      where rest.channels <> '{}')
    select 'target' as part, null::integer as depth, '' as channel, '' as version, '' as type, '' collate "C" as task_id,
      '' collate "C" as task_path, 0 as idx, null::bytea as bytes
    from target
    union all
    select 'blob', w.depth, b.channel, b.version, b.type, '', '', 0, b.blob
    from walk w cross join unnest(w.channels) as open (channel)
      join checkpoint_blobs b on b.thread_id = ${threadId} and b.checkpoint_ns = ${checkpointNs}
        and b.channel = open.channel and b.version = w.versions ->> open.channel and b.type <> 'empty'
    union all
    select 'write', w.depth, p.channel, '', p.type, p.task_id, p.task_path, p.idx, p.blob
    from walk w join checkpoint_writes p on p.thread_id = ${threadId} and p.checkpoint_ns = ${checkpointNs}
      and p.checkpoint_id = w.checkpoint_id and p.channel = any (w.channels)
    order by depth desc nulls first, task_path, task_id, idx`)
  if (target === undefined) return undefined
  return {
    stored: rows.flatMap(({ part, channel, version, type, bytes }) =>
      part === "blob" ? [{ channel, version, type, bytes }] : [],
    ),
    writes: rows.flatMap(({ part, channel, type, task_id: taskId, task_path: taskPath, idx, bytes }) =>
      part === "write" ? [{ channel, type, taskId, taskPath, idx, bytes: bytes ?? Buffer.alloc(0) }] : [],
    ),
  }
}
