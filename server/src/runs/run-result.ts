/** The result of a run: of one that has ended, and of one that is created to be waited for. */
import { Conflict, NotFound, Unavailable } from "@superstep/toolkit/errors/errors"
import { parsedJson, type RawJson, toJsonText } from "@superstep/toolkit/http/json"
import { anyone } from "../auth/caller.js"
import { AwaitedEnd } from "../events/awaited-end.js"
import { getThreadState, newestState } from "../threads/state-operations.js"
import { runFailure } from "../workers/error-codes.js"
import { createRun } from "./creation.js"
import { leaveRun } from "./operations.js"
import type { Runs } from "./parts.js"
import type { RunRequest } from "./preparation.js"
import { type EndedRun, findEndedRun, type RunRow } from "./queries.js"
import { resultText } from "./run.js"

/**
 * The result as `wait` returns it: the state that the run left, or why it failed. When the thread already shows the state of
 * a later run, the run's own last checkpoint is read; when that was pruned, the result is the thread's state.
 * @returns JSON text
 * @throws Unavailable  no worker can read the checkpoint now
 */
export async function resultOfRun(
  { db, workers }: Pick<Runs, "db" | "workers">,
  threadId: string,
  runId: string,
): Promise<string> {
  const run = await findEndedRun(db, threadId, runId)
  if (!run) return failure("RunGone", `run ${runId} was removed, by a rollback for instance`)
  if (run.error) return `{"__error__":${run.error}}`
  // A run that was stopped after its worker had died ended without its state: only its checkpoint has it.
  const isShown = run.is_newest && run.cancel_reason === null
  // A run without a checkpoint of its own has not changed the thread's state, or it was pruned.
  if (run.checkpoint_id === null || isShown) {
    return resultText(run.values ?? undefined, run.interrupts, waitsForPerson(run, run.interrupts))
  }
  const place = { ...newestState, checkpointId: run.checkpoint_id }
  try {
    const state = await getThreadState({ db, workers }, anyone, threadId, { ...place, subgraphs: false, select })
    const { values, interrupts } = partsOf(state)
    return resultText(values, interrupts, waitsForPerson(run, interrupts))
  } catch (error) {
    if (!(error instanceof NotFound || error instanceof Conflict)) throw error
    // The checkpoint was pruned, or its thread deleted, between the two reads. It does not come back, so this ends.
    const now = await findEndedRun(db, threadId, runId)
    if (now?.checkpoint_id !== run.checkpoint_id) return resultOfRun({ db, workers }, threadId, runId)
    // Its graph is gone: a retry does not help.
    return failure("StateUnavailable", `the state of run ${runId} cannot be read: ${error.message}`)
  }
}

const select = ["values", "tasks"]

const failure = (...reason: Parameters<typeof runFailure>) => toJsonText({ __error__: runFailure(...reason) })

/** A cancelled run is `interrupted` too; it waits for a person only when it has an open interrupt. */
const waitsForPerson = ({ status, cancel_reason }: EndedRun, interrupts: string): boolean =>
  status === "interrupted" && (cancel_reason === null || interrupts !== "{}")

interface State {
  readonly values?: unknown
  readonly tasks?: readonly { readonly id: string; readonly interrupts?: readonly unknown[] }[]
}

function partsOf(found: RawJson | object): { values: string; interrupts: string } {
  const { values = {}, tasks = [] } = parsedJson(found) as State
  const open = tasks.flatMap(({ id, interrupts = [] }) => (interrupts.length > 0 ? [[id, interrupts]] : []))
  return { values: toJsonText(values), interrupts: toJsonText(Object.fromEntries(open)) }
}

export interface RunOutcome {
  readonly run: RunRow
  /** JSON text of the state, with `__interrupt__` when the run waits for a person; or of `{"__error__": …}`. */
  readonly result: string
}

/**
 * Creates a run and waits for its result, for protocols with a response format of their own (MCP).
 * @param signal  aborted when the client disconnects; the run is then cancelled if its `on_disconnect` says so
 * @throws        the errors of `createRun`; Unavailable when this server stops, or the client has disconnected
 */
export async function runToEnd(runs: Runs, request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
  const awaited = new AwaitedEnd()
  const run = await createRun(runs, { ...request, subscriber: awaited })
  const ids = { threadId: run.thread_id, runId: run.run_id }
  const leave = () => {
    leaveRun(runs, { ...ids, subscriber: awaited, cancel: request.body.on_disconnect === "cancel" })
    awaited.end()
  }
  signal.addEventListener("abort", leave, { once: true })
  if (signal.aborted) leave()
  await awaited.over
  signal.removeEventListener("abort", leave)
  if (!awaited.hasEnd)
    throw new Unavailable("the run is still running, but this server no longer waits for it: join the run")
  return { run, result: awaited.result ?? (await resultOfRun(runs, ids.threadId, ids.runId)) }
}
