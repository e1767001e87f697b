/** The last events of a run that was not executing when it ended: no attempt wrote them. Pure. */
import { parseJson } from "@superstep/toolkit/http/json"
import { lastSeq, mostOfNoAttempt, type RunEvent, type TopicEvent } from "./event.js"
import { finalEvents, rootLifecycle, rootStatusOf } from "./protocol-event.js"
import { endText, type RunEnding } from "./publisher.js"

const inRun = (runId: string, event: RunEvent): TopicEvent => ({ ...event, runId, place: event.seq })

export const endOf = (runId: string, status: string, isUnsaved = false): TopicEvent =>
  inRun(runId, { seq: lastSeq, event: "end", data: Buffer.from(endText(runId, status, isUnsaved)) })

/** @param error  JSON text */
export const failureOf = (runId: string, error: string): TopicEvent =>
  inRun(runId, { seq: lastSeq - 1, event: "error", data: Buffer.from(error) })

/** For clients of the newer streaming protocol. @param error  JSON text */
export function lifecycleOf(runId: string, status: string, error: string | undefined): TopicEvent {
  const message = error === undefined ? undefined : (parseJson(error) as { message: string }).message
  const { event, data } = rootLifecycle({ runId, status: rootStatusOf(status), error: message })
  return inRun(runId, { seq: lastSeq - 2, event, data: Buffer.from(data) })
}

/** For clients of the newer streaming protocol: the state after the run, and its open interrupts. */
export function leftOf(runId: string, { values, interrupts }: NonNullable<RunEnding["left"]>): TopicEvent[] {
  const events = finalEvents(values, interrupts).slice(0, mostOfNoAttempt - 3)
  return events.map(({ event, data }, n) =>
    inRun(runId, { seq: lastSeq - 2 - events.length + n, event, data: Buffer.from(data) }),
  )
}
