/** The data from which a checkpoint's delta channels are rebuilt. The rule (C7) is in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import type { Blob, PendingWrite } from "./checkpoint.js"
import { newestFirst } from "./queries.js"

/** The values of delta channels, as LangGraph stores them. */
export interface DeltaHistory {
  /** The nearest stored value among the ancestors; a channel without one starts empty. */
  readonly stored: readonly Blob[]
  /** The writes since then, oldest first. The writes of the checkpoint itself belong to its children. */
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
 * Walks from a checkpoint up its parents, for each channel to the nearest stored value; all in one snapshot (C3).
 * @returns undefined when there is no such checkpoint
 */
export async function findDeltaHistory(
  db: Db,
  { threadId, checkpointNs, checkpointId, channels }: DeltaQuery,
): Promise<DeltaHistory | undefined> {
  const ancestor = (id: Sql) => sql`checkpoint_at(${threadId}, ${checkpointNs}, ${id})`
  const named = checkpointId === undefined ? sql`true` : sql`checkpoint_id = ${checkpointId}`
  const [target, ...rows] = await db.rows<PartRow>(sql`
    with recursive target as (
      select parent_checkpoint_id from checkpoints
      where thread_id = ${threadId} and checkpoint_ns = ${checkpointNs} and not is_replay_only and ${named}
      order by ${newestFirst} limit 1),
    -- Each with the channels that are still looked for when it is reached. Every lookup is by the whole key, held by "limit" (in
    -- checkpoint_at too) and "offset": in a join, a planner that takes the thread for small reads all of it for every ancestor.
    walk (depth, checkpoint_id, parent_checkpoint_id, versions, channels) as (
      select 1, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint -> 'channel_versions', ${channels}::text[]
      from target t cross join lateral ${ancestor(sql`t.parent_checkpoint_id`)} as c
      union all
      select w.depth + 1, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint -> 'channel_versions', rest.channels
      from walk w
        cross join lateral (select array(
          select open.channel from unnest(w.channels) as open (channel)
          where (select true from checkpoint_blobs b
            where b.thread_id = ${threadId} and b.checkpoint_ns = ${checkpointNs} and b.channel = open.channel
              and b.version = w.versions ->> open.channel and b.type <> 'empty' limit 1) is null) as channels
          offset 0) as rest
        cross join lateral ${ancestor(sql`w.parent_checkpoint_id`)} as c
      where rest.channels <> '{}')
    select 'target' as part, null::integer as depth, '' as channel, '' as version, '' as type, '' collate "C" as task_id,
      '' collate "C" as task_path, 0 as idx, null::bytea as bytes
    from target
    union all
    select 'blob', w.depth, b.channel, b.version, b.type, '', '', 0, b.blob
    from walk w cross join unnest(w.channels) as open (channel)
      cross join lateral (
        select * from checkpoint_blobs
        where thread_id = ${threadId} and checkpoint_ns = ${checkpointNs} and channel = open.channel
          and version = w.versions ->> open.channel and type <> 'empty' limit 1) as b
    union all
    select 'write', w.depth, p.channel, '', p.type, p.task_id, p.task_path, p.idx, p.blob
    from walk w cross join lateral (
      select * from checkpoint_writes
      where thread_id = ${threadId} and checkpoint_ns = ${checkpointNs} and checkpoint_id = w.checkpoint_id
        and channel = any (w.channels) offset 0) as p
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
