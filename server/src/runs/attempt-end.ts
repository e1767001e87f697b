/** Writes how an attempt's run ended, after all that it wrote. */
import type { Database } from "@superstep/toolkit/db/database"
import type { Ending } from "../checkpoints/claim-batch.js"
import type { LastWords, Result } from "../events/publisher.js"
import type { LoggedEvent } from "../events/queries.js"
import type { RunStreams } from "../events/run-streams.js"
import type { Attempt } from "./attempt.js"
import { findRun } from "./queries.js"
import { type Claim, isFinal, outcomeOf, type RunEnd, resultText, stateText } from "./run.js"

/** The end of a run as it was committed. */
export interface Written {
  readonly status: string
  readonly result: RunEnd
  readonly watchedBy: readonly string[]
  readonly words: LastWords
  /** The last events, when they were committed with it. */
  readonly logged: readonly LoggedEvent[]
}

/**
 * Commits the end together with the last that the run wrote. When something of that was refused, the run failed (K3).
 * @returns undefined when the claim was lost
 */
export async function writeEnd(
  { db, streams }: { readonly db: Database; readonly streams: RunStreams },
  { claim, writes, publisher }: Attempt,
  result: RunEnd,
): Promise<Written | undefined> {
  const { runId, threadId, attempt, deletesThread } = claim
  let kept = result
  let words: LastWords = { status: "" }
  let logged: readonly LoggedEvent[] = []
  const ending = (failure: Error | undefined): Ending => {
    kept = failure ? withoutState(result, failure) : result
    words = lastWords(claim, kept, streams.threads.isWatched(threadId))
    logged = publisher.lastEvents(words)
    const { runStatus: status, threadStatus } = outcomeOf(kept)
    const { values = null } = kept
    // A worker that does not know the state knows no open question either: the thread keeps those that it has.
    const interrupts = values === null ? null : kept.interrupts
    const error = words.error ?? null
    return { threadId, status, threadStatus, error, values, interrupts, deletesThread, events: logged }
  }
  const written = (status: string, last: Pick<Written, "words" | "logged"> = { words, logged }): Written => ({
    status,
    result: kept,
    watchedBy,
    ...last,
  })
  // The last events of a logged run come before its end, as those of a super-step before its checkpoint.
  const { outcome, watchedBy, isRepeated } = await writes.finish(ending, { after: streams.untilLogged(runId) })
  if (outcome === "finished") return written(words.status)
  if (outcome === "rolled_back") return written("rollback", { words: { status: "rollback" }, logged: [] })
  const run = isRepeated ? await findRun(db, threadId, runId) : undefined
  // The run's thread was deleted with it: an earlier try was committed, and no answer came.
  if (isRepeated && !run && deletesThread) return written(words.status)
  if (!run || !isFinal(run.status) || run.attempt !== attempt) return undefined
  return written(run.status)
}

function lastWords(claim: Claim, result: RunEnd, isThreadFollowed: boolean): LastWords {
  const { runStatus: status } = outcomeOf(result)
  const state = isThreadFollowed ? stateText(claim, result) : undefined
  if (result.error) return { status, state, error: JSON.stringify(result.error) }
  return { status, state, result: resultFor(result, claim) }
}

/** The end of a run whose checkpoint, or whose end, Postgres refused: it reports no state that was not saved. */
const withoutState = (result: RunEnd, failure: Error): RunEnd => ({
  ...result,
  status: "error",
  error: result.error ?? { error: "StateNotSaved", message: `the run's state could not be saved: ${failure.message}` },
  values: undefined,
  interrupts: "{}",
})

/** The result, for callers that wait for the run. */
const resultFor = ({ values, interrupts, status }: RunEnd, { deletesThread }: Claim): Result => ({
  text: () => resultText(values, interrupts, status === "interrupted"),
  isOnlyCopy: deletesThread,
})
