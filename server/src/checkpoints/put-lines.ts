/** Parses a worker's writes from fields and payload lines (protocol/worker, "checkpoints"). Pure. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { z } from "zod"
import type { Blob, NewCheckpoint, PendingWrite } from "./checkpoint.js"
import { fromLine } from "./payload.js"

const place = { checkpoint_ns: z.string(), checkpoint_id: z.string() }

const version = z.union([z.string(), z.number()]).transform(String)

export const putFields = z.object({
  ...place,
  parent_checkpoint_id: z.string().nullish(),
  blobs: z.array(z.object({ channel: z.string(), version, type: z.string() })),
})

export const putWritesFields = z.object({
  ...place,
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

/** @throws InvalidInput  a line is missing */
export function newCheckpoint(
  threadId: string,
  fields: z.output<typeof putFields>,
  payload: readonly Buffer[],
): NewCheckpoint {
  const [checkpoint, metadata, ...lines] = payload
  if (!checkpoint || !metadata) throw new InvalidInput("the lines of checkpoint and metadata are missing")
  const blobs = fields.blobs.map((blob, n): Blob => ({ ...blob, bytes: fromLine(blob.type, lineAt(lines, n)) }))
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
export function pendingWrites(
  { writes }: Pick<z.output<typeof putWritesFields>, "writes">,
  payload: readonly Buffer[],
): PendingWrite[] {
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
