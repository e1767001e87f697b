/** Answers a worker's `checkpoint.*` calls (protocol/worker, "Calls of a worker: checkpoints"). */
import type { Db } from "@superstep/toolkit/db/database"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { z } from "zod"
import { type CallHandlers, type CallReply, fenceOf, type PayloadLine, parseFields } from "../workers/calls.js"
import type { Blob, CheckpointTuple, NewCheckpoint, PendingWrite } from "./checkpoint.js"
import type { ClaimWrites } from "./claim-writes.js"
import { fromLine, toLine } from "./payload.js"
import { findCheckpoints } from "./queries.js"

export interface CheckpointCallsOptions {
  readonly db: Db
  readonly writes: Pick<ClaimWrites, "putCheckpoint" | "putWrites">
  /**
   * Returns when every event that the run has sent so far is kept. A resumable run's checkpoint never commits before
   * the events that led to it, else a crash leaves a hole in its stream (architecture D4).
   */
  readonly beforePut?: (runId: string) => Promise<void> | undefined
}

export const checkpointCalls = ({ db, writes, beforePut }: CheckpointCallsOptions): CallHandlers => ({
  "checkpoint.get": async (fields) => get(db, parseFields(getFields, fields)),
  "checkpoint.list": async (fields) => list(db, parseFields(listFields, fields)),
  "checkpoint.put": async (fields, payload) => {
    const fence = fenceOf(fields)
    const put = parseFields(putFields, fields)
    const order = { after: beforePut?.(fence.runId), mayWait: put.may_wait ?? false }
    await writes.putCheckpoint(fence, newCheckpoint(put, payload), order)
    return {}
  },
  "checkpoint.put_writes": async (fields, payload) => {
    const fence = fenceOf(fields)
    const put = parseFields(putWritesFields, fields)
    const { thread_id: threadId, checkpoint_ns: checkpointNs, checkpoint_id: checkpointId } = put
    const order = { after: beforePut?.(fence.runId), mayWait: put.may_wait ?? false }
    await writes.putWrites(fence, { threadId, checkpointNs, checkpointId }, pendingWrites(put, payload), order)
    return {}
  },
})

const address = { thread_id: z.string(), checkpoint_ns: z.string(), checkpoint_id: z.string() }

const getFields = z.object({ ...address, checkpoint_id: z.string().nullish() })

const listFields = z.object({
  thread_id: z.string(),
  checkpoint_ns: z.string().nullish(),
  before: z.string().nullish(),
  limit: z.int().nonnegative().nullish(),
  filter: z.record(z.string(), z.unknown()).nullish(),
})

const version = z.union([z.string(), z.number()]).transform(String)

const putFields = z.object({
  ...address,
  may_wait: z.boolean().optional(),
  parent_checkpoint_id: z.string().nullish(),
  blobs: z.array(z.object({ channel: z.string(), version, type: z.string() })),
})

const putWritesFields = z.object({
  ...address,
  may_wait: z.boolean().optional(),
  writes: z.array(
    z.object({
      task_id: z.string(),
      task_path: z.string().default(""),
      idx: z.int(),
      channel: z.string(),
      type: z.string(),
    }),
  ),
})

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

const describe = (tuple: CheckpointTuple) => ({
  checkpoint_ns: tuple.checkpointNs,
  checkpoint_id: tuple.checkpointId,
  ...(tuple.parentCheckpointId !== null && { parent_checkpoint_id: tuple.parentCheckpointId }),
  blobs: tuple.blobs.map(({ channel, version, type }) => ({ channel, version, type })),
  writes: tuple.writes.map(({ taskId, taskPath, idx, channel, type }) => ({
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
  ...tuple.blobs.map(({ type, bytes }) => ({ name: "blob", data: toLine(type, bytes) })),
  ...tuple.writes.map(({ type, bytes }) => ({ name: "write", data: toLine(type, bytes) })),
]

function newCheckpoint(fields: z.output<typeof putFields>, payload: readonly Buffer[]): NewCheckpoint {
  const [checkpoint, metadata, ...lines] = payload
  if (!checkpoint || !metadata) throw new InvalidInput("the lines of checkpoint and metadata are missing")
  const blobs = fields.blobs.map((blob, n): Blob => ({ ...blob, bytes: fromLine(blob.type, lineAt(lines, n)) }))
  return {
    threadId: fields.thread_id,
    checkpointNs: fields.checkpoint_ns,
    checkpointId: fields.checkpoint_id,
    parentCheckpointId: fields.parent_checkpoint_id ?? null,
    checkpoint: checkpoint.toString("utf8"),
    metadata: metadata.toString("utf8"),
    blobs,
  }
}

function pendingWrites({ writes }: z.output<typeof putWritesFields>, payload: readonly Buffer[]): PendingWrite[] {
  return writes.map(({ task_id, task_path, idx, channel, type }, n): PendingWrite => {
    const bytes = fromLine(type, lineAt(payload, n)) ?? Buffer.alloc(0)
    return { taskId: task_id, taskPath: task_path, idx, channel, type, bytes }
  })
}

function lineAt(lines: readonly Buffer[], n: number): Buffer {
  const line = lines[n]
  if (!line) throw new InvalidInput(`payload line ${n + 1} is missing`)
  return line
}
