/**
 * The stream of a thread for one client: the runs of the thread one after the other, for as long as the client stays
 * (agent-server-api §5.14, docs/decisions/0008-the-stream-of-a-thread.md).
 *
 * It reads one run at a time: the past from the log, then what comes live, as a client does that joins the run. So a
 * slow reader holds no memory here, and what a client gets is the same wherever the runs execute. The next run is looked
 * for when the log has its beginning (T3). It stops when the client leaves, the thread is gone, or the server stops.
 *
 * Where a client without an id begins is settled before it is answered: a run that it creates then is told whole. Of one
 * that runs at that moment it gets the rest, without the beginning that is logged late for those who come back.
 */
import { bytesOf, dataOf, type EncodedEvent, firstSeq, resultEvent, stateEvent } from "../events/event.js"
import { isPublic } from "../events/event-filter.js"
import type { EventResponse } from "../events/event-response.js"
import type { Subscriber } from "../events/run-stream.js"
import { beginning, lastRunStart, nextRunAfter, type RunStart, runStartOf } from "../events/thread-queries.js"
import type { ThreadClient } from "../events/watched-threads.js"
import { followElsewhere } from "./follow.js"
import type { Runs } from "./operations.js"
import { findRun, findRunningRun, type RunningRun } from "./queries.js"

export const threadStreamModes = ["run_modes", "lifecycle", "state_update"] as const
export type ThreadStreamMode = (typeof threadStreamModes)[number]

/** Where a client stopped: an event of a run, or before all that the log has. */
export type ThreadPlace = "beginning" | { readonly runId: string; readonly seq: number }

/** @returns undefined when the header is absent or no id of ours: then only what is to come is sent */
export function parseThreadPlace(header: string | undefined): ThreadPlace | undefined {
  if (header === "-" || header === "-1") return "beginning"
  const [, runId, seq] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(\d{1,15})$/.exec(header ?? "") ?? []
  return runId === undefined ? undefined : { runId, seq: Number(seq) }
}

/** Which events of its runs a thread's stream has. */
function threadFilter(modes: readonly ThreadStreamMode[]): (event: string) => boolean {
  const asked = new Set(modes)
  return (event) => {
    if (event === stateEvent) return asked.has("state_update")
    if (event === resultEvent) return false
    if (asked.has("run_modes")) return isPublic(event)
    return asked.has("lifecycle") && (event === "metadata" || event === "end")
  }
}

export interface ThreadReading {
  readonly threadId: string
  readonly modes: readonly ThreadStreamMode[]
  readonly after: ThreadPlace | undefined
}

export class ThreadStream implements ThreadClient {
  readonly #runs: Runs
  readonly #reading: ThreadReading
  readonly #client: EventResponse
  readonly #accepts: (event: string) => boolean
  #isOver = false
  #isWoken = false
  /** Ends the waiting for more, or for the end of the run that is being read. */
  #interrupt: () => void = () => undefined
  /** The run after which it begins, for a client without an id. */
  #last: RunStart = beginning
  /** A run of which only the rest is read: its beginning may come into the log later. */
  #joined: RunningRun | undefined
  /** The run that is being read. */
  #part: RunPart | undefined

  constructor(runs: Runs, reading: ThreadReading, client: EventResponse) {
    this.#runs = runs
    this.#reading = reading
    this.#client = client
    this.#accepts = threadFilter(reading.modes)
  }

  wake(): void {
    this.#isWoken = true
    if (this.#part === undefined) this.#interrupt()
  }

  end(): void {
    this.leave()
    this.#client.end()
  }

  break(reason: Error): void {
    this.leave()
    this.#client.break(reason)
  }

  /** The client has gone. */
  leave(): void {
    this.#isOver = true
    const { streams } = this.#runs
    streams.threads.remove(this.#reading.threadId, this)
    if (this.#part) streams.unsubscribe(this.#part.runId, this.#part)
    this.#interrupt()
  }

  /** Settles where to begin. Call it once, when the thread is watched and before the client is answered. */
  async open(): Promise<void> {
    const { db } = this.#runs
    const { threadId, after } = this.#reading
    if (after !== undefined) return
    // In this order: a run that begins between the two questions is the answer to the second.
    this.#last = (await lastRunStart(db, threadId)) ?? beginning
    this.#joined = await findRunningRun(db, threadId)
  }

  /** Reads until the client leaves. @throws Unavailable  the database is away: the client is to come back */
  async read(): Promise<void> {
    const { db } = this.#runs
    const { threadId } = this.#reading
    let last = await this.#begin()
    while (!this.#isOver) {
      this.#isWoken = false
      const next = await nextRunAfter(db, threadId, last)
      if (next === undefined) await this.#untilWoken()
      else if (next.runId !== this.#joined?.runId) await this.#readRun(next.runId, next.seq - 1)
      last = next ?? last
    }
  }

  /** @returns the run after which to go on */
  async #begin(): Promise<RunStart> {
    const { db } = this.#runs
    const { threadId, after } = this.#reading
    if (after === "beginning") return beginning
    if (after !== undefined) {
      const start = await runStartOf(db, threadId, after.runId)
      if (start !== undefined) await this.#readRun(after.runId, after.seq)
      return start ?? beginning
    }
    if (this.#joined !== undefined) await this.#readRun(this.#joined.runId, undefined)
    return this.#last
  }

  /** Gives the client a run to its end. @param after  the last id that it has; undefined for what is to come alone */
  async #readRun(runId: string, after: number | undefined): Promise<void> {
    const { streams } = this.#runs
    const over = new Promise<void>((resolve) => {
      this.#interrupt = resolve
    })
    const part = new RunPart(runId, this.#client, {
      accepts: this.#accepts,
      onEnd: this.#interrupt,
      onBreak: (reason) => this.break(reason),
    })
    this.#part = part
    try {
      if (after === undefined) streams.subscribe(runId, part, { after: firstSeq(this.#joined?.attempt ?? 1) })
      else if (!(await streams.replay(runId, part, after))) return
      const status = await followElsewhere(this.#runs, runId)
      if (status !== undefined) await this.#endPart(part, after, status)
      if (!this.#isOver) await over
    } finally {
      streams.unsubscribe(runId, part)
      this.#part = undefined
    }
  }

  /** The run is over; who reads its log finds the end there. */
  async #endPart(part: RunPart, after: number | undefined, status: string): Promise<void> {
    const { db, streams } = this.#runs
    const { runId } = part
    if (after === undefined) return streams.endSubscriber(runId, part, status)
    const error = (await findRun(db, this.#reading.threadId, runId))?.error ?? undefined
    await streams.endReader(part, { runId, after, status, error })
  }

  async #untilWoken(): Promise<void> {
    if (this.#isWoken || this.#isOver) return
    await new Promise<void>((resolve) => {
      this.#interrupt = resolve
    })
  }
}

interface RunPartOptions {
  readonly accepts: (event: string) => boolean
  /** The run is over. */
  readonly onEnd: () => void
  /** The rest of the run cannot be given. */
  readonly onBreak: (reason: Error) => void
}

/** One run as a part of its thread's stream: its events under ids that name the run too. */
class RunPart implements Subscriber {
  readonly runId: string
  readonly #client: EventResponse
  readonly accepts: (event: string) => boolean
  readonly end: () => void
  readonly break: (reason: Error) => void

  constructor(runId: string, client: EventResponse, { accepts, onEnd, onBreak }: RunPartOptions) {
    this.runId = runId
    this.#client = client
    this.accepts = accepts
    this.end = onEnd
    this.break = onBreak
  }

  write(_bytes: Buffer, events: readonly EncodedEvent[]): void {
    const all = events.map((event) => bytesOf(event.event, dataOf(event), `${this.runId}:${event.seq}`).bytes)
    this.#client.write(Buffer.concat(all))
  }

  drained(): Promise<void> | undefined {
    return this.#client.drained()
  }
}
