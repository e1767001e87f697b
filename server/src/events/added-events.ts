/** The events that the server adds to those of the graph: the first ones of an attempt, and the last ones of a run. Pure. */
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { lastSeq, mostOfNoAttempt, type RunEvent, type TopicEvent } from "./event.js"
import {
  finalEvents,
  inputAnswered,
  type ProtocolEvent,
  type Refusal,
  rootLifecycle,
  rootStatusOf,
} from "./protocol-event.js"

export interface StartedAttempt {
  readonly runId: string
  readonly graphId: string
  readonly attempt: number
}

/**
 * `metadata` (agent-server-api §7.3); then, for clients of the newer protocol, that the run starts, and what it answers.
 * @param answered  the ids of the interrupts that the run answers
 */
export function firstEvents(
  attempt: StartedAttempt,
  { answered, hasProtocolEvents }: { readonly answered: readonly string[]; readonly hasProtocolEvents: boolean },
): ProtocolEvent[] {
  const metadata = { event: "metadata", data: toJsonText({ run_id: attempt.runId, attempt: attempt.attempt }) }
  if (!hasProtocolEvents) return [metadata]
  return [metadata, runningEvent(attempt), ...(answered.length > 0 ? [inputAnswered(answered)] : [])]
}

/** For clients of the newer protocol: a worker has the run. */
export const runningEvent = (attempt: StartedAttempt): ProtocolEvent => rootLifecycle({ ...attempt, status: "running" })

export interface Result {
  /** JSON text; computed only when a client waits for it. */
  readonly text: () => string
  /** No trace of the run is left in the database, so servers whose clients wait for the result must be sent it. */
  readonly isOnlyCopy: boolean
}

/** The content of a run's last events. */
export interface RunEnding {
  readonly status: string
  /** Whether nothing of it was saved. */
  readonly isUnsaved?: boolean | undefined
  /** JSON text: why it failed. */
  readonly error?: string | undefined
  /** JSON text: the thread's state, for clients that follow the thread. */
  readonly state?: string | undefined
  /** For clients that wait for the result. */
  readonly result?: Result | undefined
  /** JSON texts: the root's state, and the open interrupts by task; undefined when the worker did not report them. */
  readonly left?: { readonly values: string | undefined; readonly interrupts: string } | undefined
  /** Why the run's answers were refused. */
  readonly refusal?: Refusal | undefined
}

/**
 * The data of a run's last event.
 * @param isUnsaved  whether the run was stopped before its input was saved
 */
export const endText = (runId: string, status: string, isUnsaved = false): string =>
  toJsonText({ run_id: runId, status, ...(isUnsaved && { input_saved: false }) })

// The last events of a run that was not executing when it ended: no attempt wrote them.
const inRun = (runId: string, event: RunEvent): TopicEvent => ({ ...event, runId, place: event.seq })

export const endOf = (runId: string, status: string, isUnsaved = false): TopicEvent =>
  inRun(runId, { seq: lastSeq, event: "end", data: Buffer.from(endText(runId, status, isUnsaved)) })

/** @param error  JSON text */
const failureOf = (runId: string, error: string): TopicEvent =>
  inRun(runId, { seq: lastSeq - 1, event: "error", data: Buffer.from(error) })

/** For clients of the newer streaming protocol. @param error  JSON text */
function lifecycleOf(runId: string, status: string, error: string | undefined): TopicEvent {
  const message = error === undefined ? undefined : (parseJson(error) as { message: string }).message
  const { event, data } = rootLifecycle({ runId, status: rootStatusOf(status), error: message })
  return inRun(runId, { seq: lastSeq - 2, event, data: Buffer.from(data) })
}

/** For clients of the newer streaming protocol: the state after the run, and its open interrupts. */
function leftOf(runId: string, { values, interrupts }: NonNullable<RunEnding["left"]>): TopicEvent[] {
  const events = finalEvents(values, interrupts).slice(0, mostOfNoAttempt - 3)
  return events.map(({ event, data }, n) =>
    inRun(runId, { seq: lastSeq - 2 - events.length + n, event, data: Buffer.from(data) }),
  )
}

/** The last events of a run that was not executing when it ended. */
export const eventsOfNoAttempt = (
  runId: string,
  { status, error, isUnsaved, left, hasProtocolEvents }: RunEnding & { readonly hasProtocolEvents: boolean },
): TopicEvent[] => [
  ...(hasProtocolEvents ? [...(left ? leftOf(runId, left) : []), lifecycleOf(runId, status, error)] : []),
  ...(error === undefined ? [] : [failureOf(runId, error)]),
  endOf(runId, status, isUnsaved),
]
