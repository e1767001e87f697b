/** Answers a worker's `checkpoint.*` calls (protocol/worker, "Calls of a worker: checkpoints"). */
import type { Db } from "@superstep/toolkit/db/database"
import { type CallFields, type CallHandlers, type CallReply, fenceOf } from "../workers/calls.js"
import { findDeltaHistory } from "./ancestor-queries.js"
import type { Journal } from "./journal.js"
import { newCheckpoint, pendingWrites } from "./put-lines.js"
import { findCheckpoints } from "./queries.js"
import { describeTuple, describeValues, linesOfTuple, linesOfValues } from "./tuple-lines.js"

export interface CheckpointCallsOptions {
  readonly db: Db
  readonly journal: Pick<Journal, "of">
}

export const checkpointCalls = ({ db, journal }: CheckpointCallsOptions): CallHandlers => ({
  "checkpoint.get": (fields) => get(db, fields),
  "checkpoint.list": (fields) => list(db, fields),
  "checkpoint.ancestors": (fields) => ancestors(db, fields),
  "checkpoint.put": async (fields, payload) => {
    const attempt = journal.of(fenceOf(fields))
    await attempt.putCheckpoint(newCheckpoint(fields.thread_id, fields, payload), orderOf(fields))
    return {}
  },
  "checkpoint.put_writes": async (fields, payload) => {
    const { thread_id: threadId, checkpoint_ns: checkpointNs, checkpoint_id: checkpointId } = fields
    const attempt = journal.of(fenceOf(fields))
    const address = { threadId, checkpointNs, checkpointId }
    await attempt.putWrites(address, pendingWrites(fields.writes, payload), orderOf(fields))
    return {}
  },
})

const orderOf = ({ may_wait: mayWait = false }: { readonly may_wait?: boolean }) => ({ mayWait })

async function get(
  db: Db,
  { thread_id, checkpoint_ns, checkpoint_id }: CallFields<"checkpoint.get">,
): Promise<CallReply> {
  const [tuple] = await findCheckpoints(db, {
    threadId: thread_id,
    checkpointNs: checkpoint_ns,
    checkpointId: checkpoint_id,
    limit: 1,
  })
  return tuple ? { fields: { tuple: describeTuple(tuple) }, payload: linesOfTuple(tuple) } : {}
}

// Each checkpoint may refer to megabytes of values, and a whole page is in memory at once.
const pageSize = 20

async function list(db: Db, fields: CallFields<"checkpoint.list">): Promise<CallReply> {
  const limit = Math.min(fields.limit ?? pageSize, pageSize)
  const tuples = await findCheckpoints(db, {
    threadId: fields.thread_id,
    checkpointNs: fields.checkpoint_ns,
    before: fields.before,
    limit,
    filter: fields.filter,
  })
  const mayHaveMore = tuples.length === limit && limit !== fields.limit
  const page = { tuples: tuples.map(describeTuple), ...(mayHaveMore && { more: true }) }
  return { fields: page, payload: tuples.flatMap(linesOfTuple) }
}

async function ancestors(
  db: Db,
  { thread_id, checkpoint_ns, checkpoint_id, channels }: CallFields<"checkpoint.ancestors">,
): Promise<CallReply> {
  const history = await findDeltaHistory(db, {
    threadId: thread_id,
    checkpointNs: checkpoint_ns,
    checkpointId: checkpoint_id,
    channels,
  })
  if (history === undefined) return {}
  const { stored: blobs, writes } = history
  return { fields: { history: describeValues({ blobs, writes }) }, payload: linesOfValues({ blobs, writes }) }
}
