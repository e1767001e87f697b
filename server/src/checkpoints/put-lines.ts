/** A worker's writes, from valid fields and payload lines (protocol/worker, "checkpoints"). Pure. */
import type { GatheredPut, Write } from "@superstep/protocol/worker/frames"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import type { Blob, NewCheckpoint, PendingWrite } from "./checkpoint.js"
import { fromLine } from "./payload.js"

/** @throws InvalidInput  a line is missing */
export function newCheckpoint(
  threadId: string,
  fields: Omit<GatheredPut, "writes" | "blobs"> & Required<Pick<GatheredPut, "blobs">>,
  payload: readonly Buffer[],
): NewCheckpoint {
  const [checkpoint, metadata, ...lines] = payload
  if (!checkpoint || !metadata) throw new InvalidInput("the lines of checkpoint and metadata are missing")
  const blobs = fields.blobs.map(({ channel, version, type }, n): Blob => {
    return { channel, version, type, bytes: fromLine(type, lineAt(lines, n)) }
  })
  return {
    threadId,
    checkpointNs: fields.checkpoint_ns,
    checkpointId: fields.checkpoint_id,
    parentCheckpointId: fields.parent_checkpoint_id ?? null,
    checkpoint: checkpoint.toString("utf8"),
    metadata: metadata.toString("utf8"),
    blobs,
  }
}

/** @throws InvalidInput  a line is missing */
export function pendingWrites(writes: readonly Write[], payload: readonly Buffer[]): PendingWrite[] {
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
