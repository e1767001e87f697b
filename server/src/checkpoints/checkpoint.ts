/** The parts of a saved checkpoint, as they are sent between a worker and the database. */

/** Serialised by LangGraph: `json` is JSON text, `empty` is nothing, anything else is bytes that only it reads. */
export interface Blob {
  readonly channel: string
  readonly version: string
  readonly type: string
  /** Null for an empty channel. */
  readonly bytes: Buffer | null
}

/** A blob that was read. */
export interface FoundBlob extends Blob {
  /** Whether a newer checkpoint of the same result has the value; then `bytes` is null here. */
  readonly isRepeated: boolean
}

/** A write of a task, kept until its super-step ends; a negative `idx` is one of LangGraph's own (error, interrupt). */
export interface PendingWrite {
  readonly taskId: string
  readonly taskPath: string
  readonly idx: number
  readonly channel: string
  readonly type: string
  readonly bytes: Buffer
}

/** Where a checkpoint is: thread, namespace (empty for the root graph) and id. */
export interface CheckpointAddress {
  readonly threadId: string
  readonly checkpointNs: string
  readonly checkpointId: string
}

export interface NewCheckpoint extends CheckpointAddress {
  readonly parentCheckpointId: string | null
  /** JSON texts. The checkpoint has no channel values: those are the blobs. */
  readonly checkpoint: string
  readonly metadata: string
  /** The blobs that are new since the parent. */
  readonly blobs: readonly Blob[]
}

/** Everything that LangGraph needs to continue from a checkpoint. */
export interface CheckpointTuple {
  readonly checkpointNs: string
  readonly checkpointId: string
  readonly parentCheckpointId: string | null
  readonly checkpoint: string
  readonly metadata: string
  readonly blobs: FoundBlob[]
  readonly writes: PendingWrite[]
}

/** Whether the writes replace earlier ones: LangGraph's own writes (error, interrupt, resume …) do; those of nodes never do. */
export const replaceEarlier = (writes: readonly PendingWrite[]): boolean => writes.every(({ idx }) => idx < 0)
