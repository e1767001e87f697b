/** What happens when a client that follows a run disconnects before the run's end. */
import type { Subscriber } from "../events/topic.js"
import { type Runs, stopRun } from "./operations.js"

export interface Leaving {
  readonly threadId: string
  readonly runId: string
  readonly subscriber: Subscriber
  /** The client asked that the run be cancelled when it disconnects. */
  readonly cancel: boolean
}

/** Removes the client and cancels its run, if the client asked for that; a failure is logged. */
export function leaveRun(runs: Runs, { threadId, runId, subscriber, cancel }: Leaving): void {
  runs.streams.runs.unsubscribe(runId, subscriber)
  if (!cancel) return
  const reason = "its client disconnected"
  stopRun(runs, { threadId, runId, action: "interrupt", wait: false, reason }).catch((err: unknown) =>
    runs.log.warn({ err, run_id: runId }, "the run of a disconnected client could not be cancelled"),
  )
}
