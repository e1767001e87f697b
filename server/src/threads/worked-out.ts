/** A worker's result for an update of a thread's state, parsed from its reply (protocol/worker). Pure. */
import { z } from "zod"
import type { ClaimWrite } from "../checkpoints/claim-batch.js"
import { newCheckpoint, pendingWrites, putFields, putWritesFields } from "../checkpoints/put-lines.js"
import { parseFields } from "../workers/calls.js"
import type { Reply } from "../workers/port.js"

export interface WorkedOut {
  /** A reference to the new checkpoint, as clients get it. */
  readonly checkpoint: Readonly<Record<string, unknown>>
  /** JSON texts: the root's state after the update. */
  readonly values: string
  readonly interrupts: string
  readonly writes: readonly ClaimWrite[]
}

const replyFields = z.object({
  checkpoint: z.record(z.string(), z.unknown()),
  puts: z.array(z.union([putWritesFields, putFields])),
})

/**
 * @param threadId  the thread of all writes
 * @throws InvalidInput  the reply does not follow the protocol
 */
export function workedOut(threadId: string, { fields, payload }: Reply): WorkedOut {
  const { checkpoint, puts } = parseFields(replyFields, fields)
  const [values, interrupts, ...lines] = payload
  if (!values || !interrupts) throw new Error("the worker's reply to graph.update_state has no state")
  const writes = puts.map((put): ClaimWrite => {
    if ("blobs" in put) {
      // The lines of checkpoint and metadata come before those of the blobs.
      const own = lines.splice(0, put.blobs.length + 2)
      return { kind: "checkpoint", checkpoint: newCheckpoint(threadId, put, own) }
    }
    const address = { threadId, checkpointNs: put.checkpoint_ns, checkpointId: put.checkpoint_id }
    return { kind: "writes", address, writes: pendingWrites(put, lines.splice(0, put.writes.length)) }
  })
  return { checkpoint, values: values.toString("utf8"), interrupts: interrupts.toString("utf8"), writes }
}
