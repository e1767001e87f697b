/** Fencing of a worker's writes: each names the claim under which its run executes (architecture D2). */
import { KnownError } from "@superstep/toolkit/errors/errors"

/** The run and the claim that a write belongs to. */
export interface Fence {
  readonly runId: string
  readonly claimId: string
}

/** The run has moved on to another attempt, or is over: nothing was written. */
export class ClaimLost extends KnownError {
  readonly code = "claim_lost"
  constructor(runId: string) {
    super(`run ${runId} has moved on to another attempt`)
  }
}
