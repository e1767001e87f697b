/** Creates a run and waits for what it has to say, for those who answer in a form of their own (MCP, A2A). */
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { dataOf, type EncodedEvent, resultEvent } from "../events/event.js"
import type { Subscriber } from "../events/run-stream.js"
import { createRun, type Runs } from "./operations.js"
import type { RunRequest } from "./preparation.js"
import type { RunRow } from "./queries.js"
import { resultOfRun } from "./run-result.js"
import { leaveRun } from "./stream-routes.js"

export interface RunOutcome {
  readonly run: RunRow
  /** JSON text of the state, with `__interrupt__` where the run waits for a person; or of `{"__error__": …}`. */
  readonly result: string
}

/**
 * @param signal  the client has left: the run is cancelled
 * @throws        what `createRun` throws; Unavailable when this server stops, or the client has left
 */
export async function runToEnd(runs: Runs, request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
  const awaited = new RunEnd()
  const run = await createRun(runs, { ...request, subscriber: awaited })
  const ids = { threadId: run.thread_id, runId: run.run_id }
  const leave = () => {
    leaveRun(runs, { ...ids, subscriber: awaited, cancel: true })
    awaited.end()
  }
  signal.addEventListener("abort", leave, { once: true })
  if (signal.aborted) leave()
  await awaited.over
  signal.removeEventListener("abort", leave)
  if (!awaited.hasEnd) throw new Unavailable("the run goes on, and nobody waits for it here any more")
  return { run, result: awaited.result ?? (await resultOfRun(runs, ids.threadId, ids.runId)) }
}

/** Waits for the end of a run, and keeps what it has to say. */
export class RunEnd implements Subscriber {
  readonly over: Promise<void>
  /** False when this server only stopped following. */
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
