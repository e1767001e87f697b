/** Answers a worker's `checkpoint.*` calls (protocol/worker, "Calls of a worker: checkpoints"). */
import type { Db } from "@superstep/toolkit/db/database"
import { type CallFields, type CallHandlers, type CallReply, fenceOf } from "../workers/calls.js"
import { findDeltaHistory } from "./ancestor-queries.js"
import type { AttemptJournal } from "./attempt-journal.js"
import type { Journal } from "./journal.js"
import { newCheckpoint, pendingWrites } from "./put-lines.js"
import { findCheckpoints } from "./queries.js"
import { describeTuple, describeValues, linesOfTuple, linesOfValues } from "./tuple-lines.js"

export interface CheckpointCallsOptions {
  readonly db: Db
  readonly journal: Pick<Journal, "of" | "flush">
}

export const checkpointCalls = ({ db, journal }: CheckpointCallsOptions): CallHandlers => ({
  "checkpoint.get": async (fields) => {
    await journal.flush(fields.thread_id)
    return get(db, fields)
  },
  "checkpoint.list": async (fields) => {
    await journal.flush(fields.thread_id)
    return list(db, fields)
  },
  "checkpoint.ancestors": async (fields) => {
    await journal.flush(fields.thread_id)
    return ancestors(db, fields)
  },
  "checkpoint.put": async (fields, payload) => {
    const attempt = journal.of(fenceOf(fields))
    const put = newCheckpoint(fields.thread_id, fields, payload)
    return answered(attempt, fields, attempt.putCheckpoint(put, orderOf(fields)))
  },
  "checkpoint.put_writes": async (fields, payload) => {
    const { thread_id: threadId, checkpoint_ns: checkpointNs, checkpoint_id: checkpointId } = fields
    const attempt = journal.of(fenceOf(fields))
    const address = { threadId, checkpointNs, checkpointId }
    const writes = pendingWrites(fields.writes, payload)
    return answered(attempt, fields, attempt.putWrites(address, writes, orderOf(fields)))
  },
})

/** The reply to a write: when it is committed, or at once if nothing waits for it and it goes with its run (K6). */
async function answered(
  attempt: AttemptJournal,
  { thread_id, may_wait }: Pick<CallFields<"checkpoint.put">, "thread_id" | "may_wait">,
  written: Promise<void>,
): Promise<CallReply> {
  if (!may_wait || !attempt.goesWithRun(thread_id)) await written
  // The journal logs the rejection, and the end of the run reports it.
  else written.catch(() => undefined)
  return {}
}

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
