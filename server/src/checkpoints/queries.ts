/** Statements on checkpoints. The rules (C1 …) are in this folder's README. */
import type { Db } from "@superstep/toolkit/db/database"
import { toJsonbText } from "@superstep/toolkit/db/jsonb"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import { must } from "@superstep/toolkit/errors/must"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import type { WaitingRun } from "../servers/server.js"
import { ClaimLost, type Fence } from "../workers/fence.js"
import type { CheckpointAddress, CheckpointTuple, NewCheckpoint, PendingWrite } from "./checkpoint.js"
import { type ClaimBatch, type ClaimWrite, describeBatch } from "./claim-batch.js"

/** The result of a claim's part of a batch; `claim_lost`: nothing of it was written. */
export interface ClaimOutcome {
  /** The claim's place in the batch. */
  readonly claim: number
  readonly outcome: "held" | "claim_lost" | "finished" | "rolled_back"
  /** Servers with clients of a run that is over. */
  readonly watched_by: readonly string[]
  /** The run of its thread that can start now; null unless the run is over. */
  readonly waiting: WaitingRun | null
  /** `[seq, position]` of each event that was appended; of a lost claim, of each that an earlier try has appended. Null for none. */
  readonly places: readonly (readonly [number, number])[] | null
  /** The position of the last event in the thread's log before them, -1 for none; null when there is no log, or the claim is lost. */
  readonly place_before: number | null
}

/** Where events were appended to the log of their thread. */
export interface LoggedPlaces {
  /** The position of the event before them, -1 for none; null when that is unknown. */
  readonly after: number | null
  /** The position of each event, by its seq. One that was appended by an earlier try is absent. */
  readonly places: ReadonlyMap<number, number>
}

/**
 * Writes the batches of several claims, each fenced, in one round trip and one transaction (C1, C2).
 * @param lockMs  how long to wait for each lock, in milliseconds; 0: as long as the statement may take
 * @throws LockTimeout  another transaction has one of the rows
 */
export const writeClaims = (db: Db, batches: readonly ClaimBatch[], lockMs = 0): Promise<ClaimOutcome[]> => {
  const { claims, rows, bytes } = describeBatch(batches)
  return db.rows<ClaimOutcome>(sql`select * from commit_attempts(${claims}, ${rows}, ${bytes}, ${lockMs})`)
}

/**
 * Saves a checkpoint with its new blobs. Saving it again replaces checkpoint and metadata.
 * @param fence  the claim that the write belongs to; undefined for a write of the API
 * @throws ClaimLost  and nothing was written
 */
export const putCheckpoint = (db: Db, fence: Fence | undefined, checkpoint: NewCheckpoint): Promise<void> =>
  writeOne(db, fence, { kind: "checkpoint", checkpoint })

/**
 * Saves writes of tasks of a super-step that has not ended (C4).
 * @throws ClaimLost  and nothing was written
 */
export const putWrites = (
  db: Db,
  fence: Fence | undefined,
  address: CheckpointAddress,
  writes: readonly PendingWrite[],
): Promise<void> => writeOne(db, fence, { kind: "writes", address, writes })

async function writeOne(db: Db, fence: Fence | undefined, write: ClaimWrite): Promise<void> {
  const [row] = await writeClaims(db, [{ fence, writes: [write] }])
  if (fence && row?.outcome === "claim_lost") throw new ClaimLost(fence.runId)
}

/** Whether a thread has a checkpoint that can be read and continued from. */
export const hasCheckpoint = async (db: Db, { threadId, checkpointNs, checkpointId }: CheckpointAddress) => {
  const row = await db.row<{ found: boolean }>(sql`
    select exists (select from checkpoints where thread_id = ${threadId} and checkpoint_ns = ${checkpointNs}
      and checkpoint_id = ${checkpointId} and not is_replay_only) as found`)
  return row?.found ?? false
}

export interface CheckpointQuery {
  readonly threadId: string
  /** Undefined means every namespace. */
  readonly checkpointNs?: string | undefined
  readonly checkpointId?: string | undefined
  /** Only checkpoints that were saved before the one with this id (C8). */
  readonly before?: string | undefined
  /** What the metadata must contain. */
  readonly filter?: Readonly<Record<string, unknown>> | undefined
  readonly limit?: number | undefined
}

/** Newest first: the order in which checkpoints were saved, and for those that a release before saved their ids (C8). */
export const newestFirst: Sql = sql`seq desc, checkpoint_id desc`

interface PartRow {
  readonly part: "checkpoint" | "blob" | "write" | "beside"
  readonly checkpoint_ns: string
  readonly checkpoint_id: string
  readonly seq: number
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
  readonly is_repeated: boolean
}

/**
 * Checkpoints with their blobs and pending writes, newest first, all in one snapshot (C3). A value that several of them refer to is
 * read once, for the newest.
 */
export const findCheckpoints = async (db: Db, query: CheckpointQuery): Promise<CheckpointTuple[]> =>
  assembled(await readParts(db, query))

/**
 * The newest checkpoint of a query, with what another statement finds in the same snapshot.
 * @param beside  selects at most one row; columns of type JSON as texts, since numbers keep theirs
 */
export async function findCheckpointBeside<Row>(
  db: Db,
  query: Omit<CheckpointQuery, "limit">,
  beside: Sql,
): Promise<{ readonly checkpoint: CheckpointTuple | undefined; readonly row: Row | undefined }> {
  const parts = await readParts(db, { ...query, limit: 1 }, beside)
  const [checkpoint] = assembled(parts.filter(({ part }) => part !== "beside"))
  const row = parts.find(({ part }) => part === "beside")?.metadata
  return { checkpoint, row: row ? (parseJson(row) as Row) : undefined }
}

async function readParts(db: Db, query: CheckpointQuery, beside?: Sql): Promise<PartRow[]> {
  const isOne = query.limit === 1
  const isRepeated = isOne
    ? sql`false`
    : sql`row_number() over (partition by f.checkpoint_ns, b.channel, b.version order by f.seq desc, f.checkpoint_id desc) > 1`
  const before = query.before === undefined ? undefined : await cursorOf(db, query, query.before)
  const besideParts = beside
    ? sql`union all
    select 'beside', '', '', 0, null, null, row_to_json(b)::text, '', '', '', '', '', 0, null, false from (${beside}) as b`
    : sql``
  return db.rows<PartRow>(sql`
    with found as materialized (
      select checkpoint_ns, checkpoint_id, seq, parent_checkpoint_id, checkpoint, metadata from ${placeOfSearch(query)}
      where ${joinSql([...conditions(query), ...(before ? [before] : [])], " and ")}
      order by ${newestFirst} limit ${query.limit ?? null}
    )
    select 'checkpoint' as part, checkpoint_ns, checkpoint_id, seq, parent_checkpoint_id, checkpoint::text, metadata::text,
      '' as channel, '' as version, '' as type, '' as task_id, '' collate "C" as task_path, 0 as idx, null::bytea as bytes,
      false as is_repeated
    from found
    union all
    select 'blob', checkpoint_ns, checkpoint_id, seq, null, null, null, channel, version, type, '', '', 0,
      case when not is_repeated then blob end, is_repeated
    from (
      select f.checkpoint_ns, f.checkpoint_id, f.seq, b.channel, b.version, b.type, b.blob, ${isRepeated} as is_repeated
      from found f cross join jsonb_each_text(f.checkpoint -> 'channel_versions') as v (channel, version)
        join checkpoint_blobs b on b.thread_id = ${query.threadId} and b.checkpoint_ns = f.checkpoint_ns
          and b.channel = v.channel and b.version = v.version
    ) as blobs
    union all
    select 'write', f.checkpoint_ns, f.checkpoint_id, f.seq, null, null, null, w.channel, '', w.type, w.task_id, w.task_path,
      w.idx, w.blob, false
    from found f join checkpoint_writes w on w.thread_id = ${query.threadId} and w.checkpoint_ns = f.checkpoint_ns
      and w.checkpoint_id = f.checkpoint_id
    ${besideParts}
    order by ${newestFirst}, task_path, task_id, idx, channel`)
}

/** One checkpoint is found by its whole key, with any statistics of the planner. */
const placeOfSearch = ({ threadId, checkpointNs, checkpointId }: CheckpointQuery): Sql =>
  checkpointNs === undefined || checkpointId === undefined
    ? sql`checkpoints`
    : sql`checkpoint_at(${threadId}, ${checkpointNs}, ${checkpointId})`

/**
 * Where a history goes on. LangGraph also asks for what a subgraph had saved before a checkpoint of its parent, which is in another
 * namespace; there, as for a checkpoint that was removed, the ids are compared.
 */
async function cursorOf(db: Db, { threadId, checkpointNs }: CheckpointQuery, before: string): Promise<Sql> {
  const found = await db.row<{ seq: number }>(sql`
    select seq from checkpoints where thread_id = ${threadId} and checkpoint_id = ${before}
      and ${checkpointNs === undefined ? sql`true` : sql`checkpoint_ns = ${checkpointNs}`} limit 1`)
  return found ? sql`(seq, checkpoint_id) < (${found.seq}::bigint, ${before})` : sql`checkpoint_id < ${before}`
}

const conditions = ({ threadId, checkpointNs, checkpointId, filter }: CheckpointQuery): Sql[] => [
  sql`thread_id = ${threadId} and not is_replay_only`,
  ...(checkpointNs === undefined ? [] : [sql`checkpoint_ns = ${checkpointNs}`]),
  ...(checkpointId === undefined ? [] : [sql`checkpoint_id = ${checkpointId}`]),
  ...(filter === undefined ? [] : [sql`metadata @> ${toJsonbText(toJsonText(filter))}::jsonb`]),
]

function assembled(rows: readonly PartRow[]): CheckpointTuple[] {
  const tuples = new Map<string, CheckpointTuple>()
  for (const row of rows) if (row.part === "checkpoint") tuples.set(checkpointKey(row), emptyTuple(row))
  for (const { channel, version, type, bytes, is_repeated: isRepeated, ...row } of rows) {
    const tuple = tuples.get(checkpointKey(row))
    must(tuple, "C3", "a read is one snapshot", { checkpoint_id: row.checkpoint_id, part: row.part })
    if (row.part === "blob") tuple.blobs.push({ channel, version, type, bytes, isRepeated })
    if (row.part === "write") {
      const { task_id: taskId, task_path: taskPath, idx } = row
      tuple.writes.push({ taskId, taskPath, idx, channel, type, bytes: bytes ?? Buffer.alloc(0) })
    }
  }
  return [...tuples.values()]
}

const checkpointKey = (row: Pick<PartRow, "checkpoint_ns" | "checkpoint_id">) =>
  `${row.checkpoint_id} ${row.checkpoint_ns}`

const emptyTuple = (row: PartRow): CheckpointTuple => ({
  checkpointNs: row.checkpoint_ns,
  checkpointId: row.checkpoint_id,
  parentCheckpointId: row.parent_checkpoint_id,
  checkpoint: row.checkpoint ?? "{}",
  metadata: row.metadata ?? "{}",
  blobs: [],
  writes: [],
})
