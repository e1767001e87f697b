/** Answers a worker's `checkpoint.*` calls (protocol/worker, "Calls of a worker: checkpoints"). */
import type { Db } from "@superstep/toolkit/db/database"
import { z } from "zod"
import { type CallHandlers, type CallReply, fenceOf, parseFields } from "../workers/calls.js"
import { findDeltaHistory } from "./ancestor-queries.js"
import type { Journal } from "./journal.js"
import { newCheckpoint, pendingWrites, putFields, putWritesFields } from "./put-lines.js"
import { findCheckpoints } from "./queries.js"
import { describeTuple, describeValues, linesOfTuple, linesOfValues } from "./tuple-lines.js"

export interface CheckpointCallsOptions {
  readonly db: Db
  readonly journal: Pick<Journal, "of">
}

export const checkpointCalls = ({ db, journal }: CheckpointCallsOptions): CallHandlers => ({
  "checkpoint.get": async (fields) => get(db, parseFields(getFields, fields)),
  "checkpoint.list": async (fields) => list(db, parseFields(listFields, fields)),
  "checkpoint.ancestors": async (fields) => ancestors(db, parseFields(ancestorsFields, fields)),
  "checkpoint.put": async (fields, payload) => {
    const fence = fenceOf(fields)
    const put = parseFields(putCall, fields)
    const attempt = journal.of(fence)
    const order = { mayWait: put.may_wait ?? false }
    await attempt.putCheckpoint(newCheckpoint(put.thread_id, put, payload), order)
    return {}
  },
  "checkpoint.put_writes": async (fields, payload) => {
    const fence = fenceOf(fields)
    const put = parseFields(putWritesCall, fields)
    const { thread_id: threadId, checkpoint_ns: checkpointNs, checkpoint_id: checkpointId } = put
    const address = { threadId, checkpointNs, checkpointId }
    const attempt = journal.of(fence)
    const order = { mayWait: put.may_wait ?? false }
    await attempt.putWrites(address, pendingWrites(put, payload), order)
    return {}
  },
})

const address = { thread_id: z.string(), checkpoint_ns: z.string(), checkpoint_id: z.string() }

const getFields = z.object({ ...address, checkpoint_id: z.string().nullish() })

const ancestorsFields = getFields.extend({ channels: z.array(z.string()) })

const listFields = z.object({
  thread_id: z.string(),
  checkpoint_ns: z.string().nullish(),
  before: z.string().nullish(),
  limit: z.int().nonnegative().nullish(),
  filter: z.record(z.string(), z.unknown()).nullish(),
})

const ofRun = { thread_id: z.string(), may_wait: z.boolean().optional() }
const putCall = putFields.extend(ofRun)
const putWritesCall = putWritesFields.extend(ofRun)

async function get(
  db: Db,
  { thread_id, checkpoint_ns, checkpoint_id }: z.output<typeof getFields>,
): Promise<CallReply> {
  const [tuple] = await findCheckpoints(db, {
    threadId: thread_id,
    checkpointNs: checkpoint_ns,
    checkpointId: checkpoint_id ?? undefined,
    limit: 1,
  })
  return tuple ? { fields: { tuple: describeTuple(tuple) }, payload: linesOfTuple(tuple) } : {}
}

// Each checkpoint may refer to megabytes of values, and a whole page is in memory at once.
const pageSize = 20

async function list(db: Db, fields: z.output<typeof listFields>): Promise<CallReply> {
  const limit = Math.min(fields.limit ?? pageSize, pageSize)
  const tuples = await findCheckpoints(db, {
    threadId: fields.thread_id,
    checkpointNs: fields.checkpoint_ns ?? undefined,
    before: fields.before ?? undefined,
    limit,
    filter: fields.filter ?? undefined,
  })
  const mayHaveMore = tuples.length === limit && limit !== fields.limit
  const page = { tuples: tuples.map(describeTuple), ...(mayHaveMore && { more: true }) }
  return { fields: page, payload: tuples.flatMap(linesOfTuple) }
}

async function ancestors(
  db: Db,
  { thread_id, checkpoint_ns, checkpoint_id, channels }: z.output<typeof ancestorsFields>,
): Promise<CallReply> {
  const history = await findDeltaHistory(db, {
    threadId: thread_id,
    checkpointNs: checkpoint_ns,
    checkpointId: checkpoint_id ?? undefined,
    channels,
  })
  if (history === undefined) return {}
  const { stored: blobs, writes } = history
  return { fields: { history: describeValues({ blobs, writes }) }, payload: linesOfValues({ blobs, writes }) }
}
