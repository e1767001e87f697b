/** A checkpoint as a header's fields and the lines after it (protocol/worker, "Calls of a worker: checkpoints"). Pure. */
import type { PayloadLine } from "../workers/port.js"
import type { Blob, CheckpointTuple, FoundBlob, PendingWrite } from "./checkpoint.js"
import { toLine } from "./payload.js"

/** The header's part of a checkpoint: its ids, and descriptions of its lines. */
export const describeTuple = (tuple: CheckpointTuple) => ({
  checkpoint_ns: tuple.checkpointNs,
  checkpoint_id: tuple.checkpointId,
  ...(tuple.parentCheckpointId !== null && { parent_checkpoint_id: tuple.parentCheckpointId }),
  ...describeValues(tuple),
})

interface Values {
  readonly blobs: readonly (Blob | FoundBlob)[]
  readonly writes: readonly PendingWrite[]
}

export const describeValues = ({ blobs, writes }: Values) => ({
  blobs: blobs.map(({ channel, version, type, ...found }) => ({
    channel,
    version,
    type,
    ...("isRepeated" in found && found.isRepeated && { repeated: true }),
  })),
  writes: writes.map(({ taskId, taskPath, idx, channel, type }) => ({
    task_id: taskId,
    task_path: taskPath,
    idx,
    channel,
    type,
  })),
})

/** The lines of a checkpoint: itself, its metadata, each blob, each write. */
export const linesOfTuple = (tuple: CheckpointTuple): PayloadLine[] => [
  { name: "checkpoint", data: tuple.checkpoint },
  { name: "metadata", data: tuple.metadata },
  ...linesOfValues(tuple),
]

export const linesOfValues = ({ blobs, writes }: Values): PayloadLine[] => [
  ...blobs.map(({ type, bytes }) => ({ name: "blob", data: toLine(type, bytes) })),
  ...writes.map(({ type, bytes }) => ({ name: "write", data: toLine(type, bytes) })),
]
