/** Writes how an attempt's run ended, after all that it wrote. */
import type { Database } from "@superstep/toolkit/db/database"
import type { Ending } from "../checkpoints/claim-batch.js"
import type { Result } from "../events/publisher.js"
import type { RunStreams } from "../events/run-streams.js"
import type { Attempt } from "./attempt.js"
import { findRun } from "./queries.js"
import { type Claim, isFinal, outcomeOf, type RunEnd, resultText } from "./run.js"

/** The end of a run as it was committed. */
export interface Written {
  readonly status: string
  readonly result: RunEnd
  readonly watchedBy: readonly string[]
}

/**
 * Commits the end together with the last that the run wrote. When something of that was refused, the run failed (K3).
 * @returns undefined when the claim was lost
 */
export async function writeEnd(
  { db, streams }: { readonly db: Database; readonly streams: RunStreams },
  { claim, writes }: Attempt,
  result: RunEnd,
): Promise<Written | undefined> {
  const { runId, threadId, attempt, deletesThread } = claim
  let kept = result
  const ending = (failure: Error | undefined): Ending => {
    kept = failure ? withoutState(result, failure) : result
    const { runStatus: status, threadStatus } = outcomeOf(kept)
    const { values = null, interrupts } = kept
    return { threadId, status, threadStatus, error: errorText(kept), values, interrupts, deletesThread }
  }
  // The last events of a logged run come before its end, as those of a super-step before its checkpoint.
  const { outcome, watchedBy, isRepeated } = await writes.finish(ending, { after: streams.untilLogged(runId) })
  if (outcome === "finished") return { status: outcomeOf(kept).runStatus, result: kept, watchedBy }
  if (outcome === "rolled_back") return { status: "rollback", result: kept, watchedBy }
  const run = isRepeated ? await findRun(db, threadId, runId) : undefined
  // Its thread went with it: what was committed unheard is this.
  if (isRepeated && !run && deletesThread) return { status: outcomeOf(kept).runStatus, result: kept, watchedBy }
  if (!run || !isFinal(run.status) || run.attempt !== attempt) return undefined
  return { status: run.status, result: kept, watchedBy }
}

/** JSON text of why a run failed, as clients read it; null when it did not. */
export const errorText = ({ error }: RunEnd): string | null => (error ? JSON.stringify(error) : null)

/** How a run ends whose checkpoint, or whose end, Postgres did not take: what it reached is not what it says. */
const withoutState = (result: RunEnd, failure: Error): RunEnd => ({
  ...result,
  status: "error",
  error: result.error ?? { error: "StateNotSaved", message: `the run's state could not be saved: ${failure.message}` },
  values: undefined,
  interrupts: "{}",
})

/** What those get that wait for the run's result. */
export const resultFor = ({ values, interrupts, status }: RunEnd, { deletesThread }: Claim): Result => ({
  text: () => resultText(values, interrupts, status === "interrupted"),
  isOnlyCopy: deletesThread,
})
