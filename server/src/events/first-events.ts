/** The first events of an attempt. Pure. */
import { toJsonText } from "@superstep/toolkit/http/json"
import { inputAnswered, type ProtocolEvent, rootLifecycle } from "./protocol-event.js"

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
