/** Answers a worker's `checkpoint.*` calls (protocol/worker, "Calls of a worker: checkpoints"). */
import type { Db } from "@superstep/toolkit/db/database"
import { z } from "zod"
import { type CallHandlers, type CallReply, fenceOf, type PayloadLine, parseFields } from "../workers/calls.js"
import { findDeltaHistory } from "./ancestor-queries.js"
import type { Blob, CheckpointTuple, PendingWrite } from "./checkpoint.js"
import type { ClaimWrites } from "./claim-writes.js"
import { toLine } from "./payload.js"
import { newCheckpoint, pendingWrites, putFields, putWritesFields } from "./put-lines.js"
import { findCheckpoints } from "./queries.js"

export interface CheckpointCallsOptions {
  readonly db: Db
  readonly writes: Pick<ClaimWrites, "of">
  /**
   * Returns when every event that the run has sent so far is kept. A resumable run's checkpoint never commits before
   * the events that led to it, else a crash leaves a hole in its stream (architecture D4).
   */
  readonly beforePut?: (runId: string) => Promise<void> | undefined
}

export const checkpointCalls = ({ db, writes, beforePut }: CheckpointCallsOptions): CallHandlers => ({
  "checkpoint.get": async (fields) => get(db, parseFields(getFields, fields)),
  "checkpoint.list": async (fields) => list(db, parseFields(listFields, fields)),
  "checkpoint.ancestors": async (fields) => ancestors(db, parseFields(ancestorsFields, fields)),
  "checkpoint.put": async (fields, payload) => {
    const fence = fenceOf(fields)
    const put = parseFields(putCall, fields)
    const attempt = writes.of(fence)
    const order = { after: beforePut?.(fence.runId), mayWait: put.may_wait ?? false }
    await attempt.putCheckpoint(newCheckpoint(put.thread_id, put, payload), order)
    return {}
  },
  "checkpoint.put_writes": async (fields, payload) => {
    const fence = fenceOf(fields)
    const put = parseFields(putWritesCall, fields)
    const { thread_id: threadId, checkpoint_ns: checkpointNs, checkpoint_id: checkpointId } = put
    const address = { threadId, checkpointNs, checkpointId }
    const attempt = writes.of(fence)
    const order = { after: beforePut?.(fence.runId), mayWait: put.may_wait ?? false }
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
  return tuple ? { fields: { tuple: describe(tuple) }, payload: linesOf(tuple) } : {}
}

async function list(db: Db, fields: z.output<typeof listFields>): Promise<CallReply> {
  const tuples = await findCheckpoints(db, {
    threadId: fields.thread_id,
    checkpointNs: fields.checkpoint_ns ?? undefined,
    before: fields.before ?? undefined,
    limit: fields.limit ?? undefined,
    filter: fields.filter ?? undefined,
  })
  return { fields: { tuples: tuples.map(describe) }, payload: tuples.flatMap(linesOf) }
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
  return { fields: { history: describeValues({ blobs, writes }) }, payload: valueLines({ blobs, writes }) }
}

const describe = (tuple: CheckpointTuple) => ({
  checkpoint_ns: tuple.checkpointNs,
  checkpoint_id: tuple.checkpointId,
  ...(tuple.parentCheckpointId !== null && { parent_checkpoint_id: tuple.parentCheckpointId }),
  ...describeValues(tuple),
})

interface Values {
  readonly blobs: readonly Blob[]
  readonly writes: readonly PendingWrite[]
}

const describeValues = ({ blobs, writes }: Values) => ({
  blobs: blobs.map(({ channel, version, type }) => ({ channel, version, type })),
  writes: writes.map(({ taskId, taskPath, idx, channel, type }) => ({
    task_id: taskId,
    task_path: taskPath,
    idx,
    channel,
    type,
  })),
})

const linesOf = (tuple: CheckpointTuple): PayloadLine[] => [
  { name: "checkpoint", data: tuple.checkpoint },
  { name: "metadata", data: tuple.metadata },
  ...valueLines(tuple),
]

const valueLines = ({ blobs, writes }: Values): PayloadLine[] => [
  ...blobs.map(({ type, bytes }) => ({ name: "blob", data: toLine(type, bytes) })),
  ...writes.map(({ type, bytes }) => ({ name: "write", data: toLine(type, bytes) })),
]
