import type { Fence } from "../../workers/fence.js"
import type { AttemptJournal } from "../attempt-journal.js"
import { Journal } from "../journal.js"

/** Accepts the writes of every claim that holds its run: for tests of workers without a claim loop. */
export function journalOfAnyClaim(options: ConstructorParameters<typeof Journal>[0]): Pick<Journal, "of" | "flush"> {
  const journal = new Journal(options)
  const opened = new Map<string, AttemptJournal>()
  return {
    of: (fence: Fence) => {
      const attempt = opened.get(fence.claimId) ?? journal.open(fence)
      opened.set(fence.claimId, attempt)
      return attempt
    },
    flush: (threadId) => journal.flush(threadId),
  }
}
