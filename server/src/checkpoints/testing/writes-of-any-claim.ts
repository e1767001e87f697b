import type { Fence } from "../../workers/fence.js"
import type { AttemptWrites } from "../attempt-writes.js"
import { ClaimWrites } from "../claim-writes.js"

/** Accepts the writes of every claim that holds its run: for tests of workers without a claim loop. */
export function writesOfAnyClaim(options: ConstructorParameters<typeof ClaimWrites>[0]): Pick<ClaimWrites, "of"> {
  const writes = new ClaimWrites(options)
  const opened = new Map<string, AttemptWrites>()
  return {
    of: (fence: Fence) => {
      const attempt = opened.get(fence.claimId) ?? writes.open(fence)
      opened.set(fence.claimId, attempt)
      return attempt
    },
  }
}
