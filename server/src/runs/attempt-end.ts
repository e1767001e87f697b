/** Writes how an attempt's run ended, after all writes of the attempt. */
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Log } from "@superstep/toolkit/log/log"
import type { Ending } from "../checkpoints/claim-batch.js"
import type { Journal } from "../checkpoints/journal.js"
import type { Result, RunEnding } from "../events/added-events.js"
import type { NewEvent } from "../events/queries.js"
import type { Streams } from "../events/streams.js"
import type { WaitingRun } from "../servers/server.js"
import { runFailure } from "../workers/error-codes.js"
import type { Attempt } from "./attempt.js"
import { findRun, hasAppliedInput } from "./queries.js"
import { refusalOf } from "./resume.js"
import { type Claim, isFinal, outcomeOf, type RunEnd, resultText, stateText } from "./run.js"

/** The end of a run as it was committed. */
export interface Written {
  readonly status: string
  readonly result: RunEnd
  readonly watchedBy: readonly string[]
  /** The run of its thread that can start now. */
  readonly waiting: WaitingRun | null
  readonly runEnding: RunEnding
  /** The last events, when they were committed with the end. */
  readonly lastLogged: readonly NewEvent[]
}

/** How the run ends, for the database and for clients. */
interface ComposedEnding extends Ending, Pick<Written, "result" | "runEnding"> {
  readonly events: readonly NewEvent[]
  readonly eventsOfRollback: readonly NewEvent[]
}

/**
 * Commits the end together with the run's last writes. When Postgres rejects one of these writes, the run has failed (K3).
 * @returns undefined when the claim was lost
 */
export async function writeEnd(
  parts: { readonly journal: Journal; readonly streams: Streams; readonly log: Log },
  { claim, journal, publisher }: Attempt,
  result: RunEnd,
): Promise<Written | undefined> {
  const { streams, log } = parts
  const { runId, threadId, attempt, deletesThread } = claim
  const isInputThere = () => parts.journal.read((read) => hasAppliedInput(read, threadId, runId))
  // Nobody else writes for this run while the claim holds.
  const isKept = attempt > 1 && !journal.keepsInput && (await isInputThere())
  const rollback: RunEnding = { status: "rollback" }
  const compose = (failure: Error | undefined): ComposedEnding => {
    const kept = failure ? withoutState(result, failure) : result
    const isUnsaved = kept.status !== "success" && !journal.keepsInput && !isKept
    const runEnding = { ...runEndingOf(claim, kept, streams.followed.isFollowed(threadId)), isUnsaved }
    const { runStatus: status, threadStatus } = outcomeOf(kept)
    const { values = null } = kept
    // A worker that does not know the state does not know the open interrupts either: the thread keeps those it has.
    const interrupts = values === null ? null : kept.interrupts
    const error = runEnding.error ?? null
    const events = publisher.lastEvents(runEnding)
    const eventsOfRollback = publisher.lastEvents(rollback)
    const stored = { threadId, status, threadStatus, error, values, interrupts, deletesThread }
    return { ...stored, events, eventsOfRollback, result: kept, runEnding }
  }
  const { ending, outcome, watchedBy, waiting, isRepeated } = await journal.finish(compose)
  // It was never sent.
  if (ending === undefined) return undefined
  const written = { ...ending, lastLogged: ending.events, watchedBy, waiting }
  if (outcome === "finished") return written
  if (outcome === "rolled_back")
    return { ...written, status: "rollback", runEnding: rollback, lastLogged: ending.eventsOfRollback }
  const run = isRepeated ? await parts.journal.read((read) => findRun(read, threadId, runId)) : undefined
  // The run's thread was deleted with it: an earlier try was committed, but its response was lost.
  const isGone = isRepeated && !run && deletesThread
  const isOurs = run !== undefined && isFinal(run.status) && run.attempt === attempt
  if (!isGone && !isOurs) return undefined
  log.info({ run_id: runId, attempt, promise: "D9" }, "the end of a run was committed, and only the answer was lost")
  return run ? { ...written, status: run.status } : written
}

function runEndingOf(claim: Claim, result: RunEnd, isThreadFollowed: boolean): RunEnding {
  const { runStatus: status } = outcomeOf(result)
  const state = isThreadFollowed ? stateText(claim, result) : undefined
  const { values, interrupts } = result
  const common = { status, state, left: { values, interrupts } }
  if (result.error) return { ...common, error: toJsonText(result.error), refusal: refusalOf(claim.kwargs, result) }
  // A worker that was stopped before it read the thread does not know what an earlier attempt has saved: then the database is asked.
  const isKnown = values !== undefined || claim.deletesThread
  return isKnown ? { ...common, result: resultFor(result, claim) } : common
}

/** The end of a run whose checkpoint, or whose end, Postgres rejected: it must not report state that was not saved. */
const withoutState = (result: RunEnd, failure: Error): RunEnd => ({
  ...result,
  status: "error",
  error: result.error ?? runFailure("StateNotSaved", `the run's state could not be saved: ${failure.message}`),
  values: undefined,
  interrupts: "{}",
})

/** The result, for callers that wait for the run. */
const resultFor = ({ values, interrupts, status }: RunEnd, { deletesThread }: Claim): Result => ({
  text: () => resultText(values, interrupts, status === "interrupted"),
  isOnlyCopy: deletesThread,
})
