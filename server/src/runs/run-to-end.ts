/** Creates a run and waits for its result, for protocols with a response format of their own (MCP). */
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { dataOf, type EncodedEvent, resultEvent } from "../events/event.js"
import type { Subscriber } from "../events/topic.js"
import { leaveRun } from "./leave-run.js"
import { createRun, type Runs } from "./operations.js"
import type { RunRequest } from "./preparation.js"
import type { RunRow } from "./queries.js"
import { resultOfRun } from "./run-result.js"

export interface RunOutcome {
  readonly run: RunRow
  /** JSON text of the state, with `__interrupt__` when the run waits for a person; or of `{"__error__": …}`. */
  readonly result: string
}

/**
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

/** Waits for the end of a run, and keeps its result. */
export class AwaitedEnd implements Subscriber {
  readonly over: Promise<void>
  /** Stays false when this server has only stopped following. */
  hasEnd = false
  result: string | undefined
  #end: () => void = () => undefined

  constructor() {
    this.over = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  accepts(event: string): boolean {
    return event === resultEvent || event === "error" || event === "end"
  }

  write(_bytes: Buffer, events: readonly EncodedEvent[]): void {
    for (const event of events) {
      const data = dataOf(event).toString("utf8")
      if (event.event === "end") this.hasEnd = true
      else this.result = event.event === "error" ? `{"__error__":${data}}` : data
    }
  }

  end(): void {
    this.#end()
  }
}
