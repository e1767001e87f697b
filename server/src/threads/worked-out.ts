/** A worker's result for an update of a thread's state, parsed from its reply (protocol/worker). Pure. */
import type { ReplyFrame } from "@superstep/protocol/worker/frames"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import type { ClaimWrite } from "../checkpoints/claim-batch.js"
import { newCheckpoint, pendingWrites } from "../checkpoints/put-lines.js"
import type { Reply } from "../workers/port.js"

export interface WorkedOut {
  /** A reference to the new checkpoint, as clients get it. */
  readonly checkpoint: Readonly<Record<string, unknown>>
  /** JSON texts: the root's state after the update. */
  readonly values: string
  readonly interrupts: string
  readonly writes: readonly ClaimWrite[]
}

/**
 * @param threadId  the thread of all writes
 * @throws InvalidInput  the reply does not follow the protocol
 */
export function workedOut(threadId: string, { fields, payload }: Reply): WorkedOut {
  // The session has checked each field of the frame, but which of them are there depends on the call.
  const { checkpoint, puts } = fields as Pick<ReplyFrame, "checkpoint" | "puts">
  const [values, interrupts, ...lines] = payload
  if (!checkpoint || !puts || !values || !interrupts)
    throw new InvalidInput("the worker's reply to graph.update_state has no state")
  const writes = puts.map(({ blobs, writes, ...put }): ClaimWrite => {
    if (writes) {
      const address = { threadId, checkpointNs: put.checkpoint_ns, checkpointId: put.checkpoint_id }
      return { kind: "writes", address, writes: pendingWrites(writes, lines.splice(0, writes.length)) }
    }
    if (!blobs)
      throw new InvalidInput(`the worker's put of checkpoint ${put.checkpoint_id} has neither blobs nor writes`)
    // The lines of checkpoint and metadata come before those of the blobs.
    const own = lines.splice(0, blobs.length + 2)
    return { kind: "checkpoint", checkpoint: newCheckpoint(threadId, { ...put, blobs }, own) }
  })
  return { checkpoint, values: values.toString("utf8"), interrupts: interrupts.toString("utf8"), writes }
}
