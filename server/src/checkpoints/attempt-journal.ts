/**
 * What one attempt writes, in order, until it is committed or rejected: the events of its run, if that has a log, its checkpoints, writes of
 * tasks, and its end. The object lives from the claim to the end of the attempt, and only it holds these writes: a write after `close` is
 * rejected and never queued (K5).
 */
import { Fifo } from "@superstep/toolkit/collections/fifo"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import { must } from "@superstep/toolkit/errors/must"
import { parseJson } from "@superstep/toolkit/http/json"
import type { Clock } from "@superstep/toolkit/time/clock"
import type { WaitingRun } from "../servers/server.js"
import { ClaimLost, type Fence } from "../workers/fence.js"
import type { CheckpointAddress, NewCheckpoint, PendingWrite } from "./checkpoint.js"
import {
  type Acknowledged,
  type ClaimWrite,
  type Ending,
  type LogEvent,
  type SavedPlace,
  sizeOf,
  sizeOfEvent,
} from "./claim-batch.js"
import type { ClaimOutcome, LoggedPlaces } from "./queries.js"

// A batch of this size takes a few milliseconds; a larger one would only delay its first event.
export const mostEvents = 500
// Two batches of one run: the one being written, and the next.
const maxWaitingBytesOfRun = 4 * 1024 * 1024
// About as long as a node without a model takes, and far less than one with a model.
const gatherMs = 3
// Of what goes with its run: longer than a run without a model takes on a busy server, and far less than a node with a model.
const gatherTemporaryMs = 100
// More is sent at once: what waits takes memory, for which other runs wait (K7).
const mostGatheredBytes = 512 * 1024

/** When a write may be sent. */
export interface WriteOrder {
  /** Whether the graph goes on without waiting for the write (K6). */
  readonly mayWait?: boolean
}

export interface WrittenEnding<E extends Ending> {
  /** As it was sent last; undefined when it was refused before. */
  readonly ending: E | undefined
  readonly outcome: "claim_lost" | "finished" | "rolled_back"
  readonly watchedBy: readonly string[]
  /** The run of its thread that can start now. */
  readonly waiting: WaitingRun | null
  /** Whether an earlier try may have been committed without a response; `claim_lost` may then mean that. */
  readonly isRepeated: boolean
}

/** One requested write, or events that were requested one after the other. */
export class QueuedWrite {
  /** Makes the write when it is sent: an ending depends on whether the earlier writes were kept. */
  readonly write: (failure: Error | undefined) => ClaimWrite
  readonly isEnding: boolean
  readonly events: LogEvent[] | undefined
  /** What it takes in memory; 0 for an ending. */
  bytes: number
  /** Settles once the write is committed or rejected. */
  readonly written: Promise<ClaimOutcome>
  resolve!: (outcome: ClaimOutcome) => void
  reject!: (error: unknown) => void
  /** Whether it no longer waits for other writes to join its batch (K6). */
  isDue = false
  /** Whether it was sent before without a response. */
  isRepeated = false

  constructor(
    write: QueuedWrite["write"],
    { isEnding = false, events }: { isEnding?: boolean; events?: LogEvent[] } = {},
  ) {
    this.write = write
    this.isEnding = isEnding
    this.events = events
    this.bytes = isEnding ? 0 : sizeOf(write(undefined))
    this.written = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }
}

/** The attempt whose writes they are. */
export interface WritingAttempt {
  readonly number: number
  readonly threadId: string
  /** Whether the thread is deleted with its run: what is still waiting when the run ends is then never written (K6). */
  readonly deletesThread?: boolean
}

/** Commits the writes of all attempts. */
export interface Committer {
  readonly clock: Clock
  /** Called when there is a write to send. */
  schedule(): void
  /** Adds to the number of waiting bytes; negative when fewer wait. */
  count(bytes: number): void
  /** A promise to wait for before the next write; undefined while there is room (K7). */
  backlog(): Promise<void> | undefined
  /** Called when no more writes of the attempt are accepted. */
  closed(attempt: AttemptJournal): void
}

// The text is longer than what it says of the source, and most do not have the word at all.
const isOfInput = ({ metadata }: NewCheckpoint): boolean =>
  metadata.includes('"input"') && (parseJson(metadata) as { source?: unknown }).source === "input"

export class AttemptJournal {
  readonly fence: Fence
  /** Whether a batch with writes of this attempt is being sent; there is never a second one (K1). */
  underWay: Promise<void> | undefined
  /** The error of the first write that Postgres rejected. */
  failure: Error | undefined
  /** Called when events can be read from the log, in their order; never for one that is not in the log (K2). */
  whenLogged: (events: readonly LogEvent[], appended: LoggedPlaces) => void = () => undefined
  #hasWrites = false
  #hasInputCheckpoint = false
  #hasAppliedInput = false
  #saved: SavedPlace | undefined
  /** The last event of the run that is known to be in the log. */
  #loggedSeq: number | undefined
  /** Undefined for writes that are no attempt's. */
  readonly #attempt: WritingAttempt | undefined
  readonly #committer: Committer
  #waiting = new Fifo<QueuedWrite>()
  /** Takes the next event, while nothing else was requested after it. */
  #openEvents: QueuedWrite | undefined
  #eventBytes = 0
  /** Settles with the last requested write. */
  #last: Promise<unknown> = Promise.resolve()
  #refusal: (() => Error) | undefined
  #isClosed = false
  #gathering: { readonly cancel: () => void; readonly forMs: number } | undefined
  #gatheredBytes = 0

  constructor(fence: Fence, committer: Committer, attempt?: WritingAttempt) {
    this.fence = fence
    this.#committer = committer
    this.#attempt = attempt
  }

  /** Why nothing more is written; undefined while it is. */
  get refusal(): Error | undefined {
    return this.#refusal?.()
  }

  /** What the database must have (K8). */
  get acknowledged(): Acknowledged | undefined {
    if (!this.#attempt) return undefined
    return { attempt: this.#attempt.number, saved: this.#saved, seq: this.#loggedSeq }
  }

  /**
   * Whether the attempt has saved something that is still there after the next input: that replaces what is only in the checkpoint of the
   * run's input. An answer to an interrupt does not count, since its node may not have received it yet.
   */
  get keepsInput(): boolean {
    return this.#hasAppliedInput || (this.#hasWrites && !this.#hasInputCheckpoint)
  }

  /** Called when an event of the run is known to be in the log. */
  noteLogged(seq: number): void {
    this.#loggedSeq = seq
  }

  /**
   * Logs an event of the run, before everything that is requested later.
   * @returns a promise to wait for before the next event, when too much waits (K7)
   */
  log(event: LogEvent): Promise<void> | undefined {
    if (this.#refusal || !this.#attempt) return undefined
    const bytes = sizeOfEvent(event)
    let item = this.#openEvents
    if (item?.events && item.events.length < mostEvents) {
      item.events.push(event)
      item.bytes += bytes
      this.#committer.count(bytes)
    } else item = this.#pushEvents([event])
    this.#eventBytes += bytes
    if (this.#eventBytes <= maxWaitingBytesOfRun) return this.#committer.backlog()
    const settled = () => undefined
    return item.written.then(settled, settled)
  }

  #pushEvents(events: LogEvent[]): QueuedWrite {
    const item = this.#push(this.#eventsOf(events), {}, { events })
    this.#openEvents = item
    return item
  }

  #eventsOf(events: readonly LogEvent[]): QueuedWrite["write"] {
    const threadId = this.#attempt?.threadId ?? ""
    return () => ({ kind: "events", threadId, events })
  }

  /** The events of a rejected item, each to be sent by itself (K3). */
  apart({ events = [] }: QueuedWrite): QueuedWrite[] {
    return events.map((event) => new QueuedWrite(this.#eventsOf([event]), { events: [event] }))
  }

  /** Called when a batch with these events was committed, or refused because the claim was lost. */
  settleEvents(items: readonly QueuedWrite[], { outcome, places, place_before: after }: ClaimOutcome): void {
    const given = items.flatMap(({ events = [] }) => events)
    const known = new Map(places)
    // Of a lost claim, an earlier try whose answer was lost may have appended some.
    const logged = outcome === "claim_lost" ? given.filter(({ seq }) => known.has(seq)) : given
    const last = logged.at(-1)
    if (!last) return
    this.noteLogged(last.seq)
    this.whenLogged(logged, { after: outcome === "claim_lost" ? null : after, places: known })
  }

  /** Saves a checkpoint with its new blobs. @throws ClaimLost  and nothing was written */
  async putCheckpoint(checkpoint: NewCheckpoint, order?: WriteOrder): Promise<void> {
    const { threadId, checkpointNs, checkpointId } = checkpoint
    if (threadId === this.#attempt?.threadId && checkpointNs === "") {
      if (isOfInput(checkpoint)) this.#hasInputCheckpoint = true
      else this.#hasAppliedInput = true
    }
    await this.#push(() => ({ kind: "checkpoint", checkpoint }), { ...order, threadId }).written
    this.#saved = { threadId, checkpointNs, checkpointId }
  }

  /** Saves writes of tasks. @throws ClaimLost  and nothing was written */
  async putWrites(address: CheckpointAddress, writes: readonly PendingWrite[], order?: WriteOrder): Promise<void> {
    this.#hasWrites ||= writes.some(({ channel }) => channel !== "__resume__")
    await this.#push(() => ({ kind: "writes", address, writes }), { ...order, threadId: address.threadId }).written
    const [write] = writes
    if (write) this.#saved = { ...address, write }
  }

  /**
   * Ends the run after all its other writes, in the same transaction as the last of them, and closes.
   * @param compose  makes the end each time it is sent, so also after a lost response, and after Postgres has rejected the end itself; its
   *                 argument is the error of the run's first rejected write
   * @throws Unavailable  the server stops before the end could be committed
   */
  async finish<E extends Ending>(compose: (failure: Error | undefined) => E): Promise<WrittenEnding<E>> {
    try {
      return await this.#pushEnding(compose).catch((error: unknown) => {
        if (isPassing(error)) throw error
        return this.#pushEnding(compose)
      })
    } finally {
      this.close()
    }
  }

  async #pushEnding<E extends Ending>(compose: (failure: Error | undefined) => E): Promise<WrittenEnding<E>> {
    let ending: E | undefined
    const write = (failure: Error | undefined): ClaimWrite => {
      ending = compose(failure)
      return { kind: "ending", ending }
    }
    const item = this.#push(write, {}, { isEnding: true })
    try {
      const { outcome, watched_by: watchedBy, waiting } = await item.written
      must(outcome !== "held", "X1", "a run whose end was committed is over", { run_id: this.fence.runId })
      return { ending, outcome, watchedBy, waiting, isRepeated: item.isRepeated }
    } catch (error) {
      if (!(error instanceof ClaimLost)) throw error
      return { ending, outcome: "claim_lost", watchedBy: [], waiting: null, isRepeated: item.isRepeated }
    }
  }

  /** Sends all requested writes, and resolves when they are committed or rejected. */
  async settled(): Promise<void> {
    this.#sendWaiting()
    while (this.underWay) await this.underWay
    await this.#last
  }

  /** Called when the attempt is over: waiting and later writes are rejected. Writes being sent settle by themselves. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#endGathering()
    this.refuseWaiting(() => new ClaimLost(this.fence.runId))
    this.#committer.closed(this)
  }

  /** Whether a batch should be sent now for this attempt's waiting writes. */
  get isDue(): boolean {
    if (this.underWay) return false
    for (const { isDue } of this.#waiting) if (isDue) return true
    return false
  }

  /** Whether there is something to send in a batch that is sent now (K6). */
  get mayJoin(): boolean {
    return !this.underWay && this.#waiting.length > 0 && (this.isDue || this.#gathering?.forMs !== gatherTemporaryMs)
  }

  /** Whether the thread is the run's own and is deleted with it, so that nobody needs a write to it once the run is over (K6). */
  goesWithRun(threadId: string): boolean {
    return this.#attempt?.deletesThread === true && this.#attempt.threadId === threadId
  }

  #endGathering(): void {
    this.#gathering?.cancel()
    this.#gathering = undefined
    this.#gatheredBytes = 0
  }

  #sendWaiting(): void {
    this.#endGathering()
    for (const item of this.#waiting) item.isDue = true
    this.#committer.schedule()
  }

  /** The waiting writes wait a moment for others to join their batch, or for the end of their run (K6). */
  #gather(bytes: number, forMs: number): void {
    this.#gatheredBytes += bytes
    if (this.#gatheredBytes > mostGatheredBytes) this.#sendWaiting()
    else if (!this.#gathering || this.#gathering.forMs > forMs) {
      this.#gathering?.cancel()
      this.#gathering = { cancel: this.#committer.clock.after(forMs, () => this.#sendWaiting()), forMs }
    }
  }

  /**
   * Takes the writes that may be sent now, in order (K1).
   * @param maxBytes  stops once this many bytes, or as many events as a batch may have, are taken
   */
  take(maxBytes: number): QueuedWrite[] {
    const items: QueuedWrite[] = []
    let bytes = 0
    let events = 0
    for (
      let item = this.#waiting.peek();
      item && bytes < maxBytes && events < mostEvents;
      item = this.#waiting.peek()
    ) {
      this.#waiting.shift()
      if (item === this.#openEvents) this.#openEvents = undefined
      // Writes after a rejected one would leave an incomplete state.
      if (this.failure && !item.isEnding && !item.events) item.reject(this.failure)
      else {
        bytes += item.isEnding ? sizeOf(item.write(this.failure)) : item.bytes
        events += item.events?.length ?? 0
        items.push(item)
        if (item.isEnding) break
      }
    }
    if (this.#waiting.length === 0) this.#endGathering()
    return items
  }

  /** Rejects everything that waits, and everything that is requested later: it would follow a hole. */
  refuseWaiting(refusal: () => Error): void {
    this.#refusal ??= refusal
    const waiting = this.#waiting
    this.#waiting = new Fifo()
    this.#openEvents = undefined
    for (const item of waiting) item.reject(refusal())
  }

  #push(
    write: QueuedWrite["write"],
    { mayWait = false, threadId }: WriteOrder & { readonly threadId?: string } = {},
    kind: { isEnding?: boolean; events?: LogEvent[] } = {},
  ): QueuedWrite {
    const item = new QueuedWrite(write, kind)
    if (this.#refusal) {
      item.reject(this.#refusal())
      return item
    }
    item.isDue = !mayWait
    this.#openEvents = undefined
    this.#waiting.push(item)
    this.#committer.count(item.bytes)
    const settled = () => {
      this.#committer.count(-item.bytes)
      if (item.events) this.#eventBytes -= item.bytes
    }
    this.#last = item.written.then(settled, settled)
    const goes = threadId !== undefined && this.goesWithRun(threadId)
    if (mayWait) this.#gather(item.bytes, goes ? gatherTemporaryMs : gatherMs)
    else this.#committer.schedule()
    return item
  }
}
