/**
 * The writes of one attempt, in order, until they are committed or rejected. The object lives from the claim to the end of the
 * attempt, and only it holds these writes: a write after `close` is rejected and never queued (K5).
 */
import { Fifo } from "@superstep/toolkit/collections/fifo"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import { must } from "@superstep/toolkit/errors/must"
import type { WaitingRun } from "../servers/server.js"
import { ClaimLost, type Fence } from "../workers/fence.js"
import type { CheckpointAddress, NewCheckpoint, PendingWrite } from "./checkpoint.js"
import { type Acknowledged, type ClaimWrite, type Ending, type SavedPlace, sizeOf } from "./claim-batch.js"
import type { ClaimOutcome } from "./queries.js"

/** When a write may be sent. */
export interface WriteOrder {
  /** Settles when other data is committed, such as the events that led to the write. If it rejects, the write does not happen. */
  readonly after?: Promise<void> | undefined
  /** Whether the graph goes on without waiting for the write (K6). */
  readonly mayWait?: boolean
}

export interface WrittenEnding {
  readonly outcome: "claim_lost" | "finished" | "rolled_back"
  readonly watchedBy: readonly string[]
  /** The run of its thread that can start now. */
  readonly waiting: WaitingRun | null
  /** Whether an earlier try may have been committed without a response; `claim_lost` may then mean that. */
  readonly isRepeated: boolean
}

/** One requested write. */
export class QueuedWrite {
  /** Makes the write when it is sent: an ending depends on whether the earlier writes were kept. */
  readonly write: (failure: Error | undefined) => ClaimWrite
  readonly isEnding: boolean
  /** Settles once the write is committed or rejected. */
  readonly written: Promise<ClaimOutcome>
  resolve!: (outcome: ClaimOutcome) => void
  reject!: (error: unknown) => void
  /** Whether other data must be committed first. */
  isHeld = false
  /** Whether it no longer waits for other writes to join its batch (K6). */
  isDue = false
  /** Whether it was sent before without a response. */
  isRepeated = false

  constructor(write: QueuedWrite["write"], isEnding: boolean) {
    this.write = write
    this.isEnding = isEnding
    this.written = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }
}

/** What an attempt knows to be committed beside its own writes. */
export interface AcknowledgedSource {
  readonly attempt: number
  /** The event of the run that was logged last. */
  loggedSeq(): number | undefined
}

/** Commits the writes of all attempts. */
export interface Committer {
  /** Called when there is a new write to send. */
  schedule(mayWait: boolean): void
  /** Adds to the number of waiting bytes; negative when fewer wait. */
  count(bytes: number): void
  /** Called when no more writes of the attempt are accepted. */
  closed(attempt: AttemptWrites): void
}

export class AttemptWrites {
  readonly fence: Fence
  /** Whether a batch with writes of this attempt is being sent; there is never a second one (K1). */
  isUnderWay = false
  /** The error of the first write that Postgres rejected. */
  failure: Error | undefined
  /** Whether it has requested a write other than an answer to an interrupt, which its node may not have received yet. */
  hasSaved = false
  #saved: SavedPlace | undefined
  readonly #source: AcknowledgedSource | undefined
  readonly #committer: Committer
  #waiting = new Fifo<QueuedWrite>()
  /** Settles with the last requested write. */
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(fence: Fence, committer: Committer, source?: AcknowledgedSource) {
    this.fence = fence
    this.#committer = committer
    this.#source = source
  }

  /** What the database must have (K8). */
  get acknowledged(): Acknowledged | undefined {
    if (!this.#source) return undefined
    return { attempt: this.#source.attempt, saved: this.#saved, seq: this.#source.loggedSeq() }
  }

  /** Saves a checkpoint with its new blobs. @throws ClaimLost  and nothing was written */
  async putCheckpoint(checkpoint: NewCheckpoint, order?: WriteOrder): Promise<void> {
    this.hasSaved = true
    await this.#push(() => ({ kind: "checkpoint", checkpoint }), order).written
    const { threadId, checkpointNs, checkpointId } = checkpoint
    this.#saved = { threadId, checkpointNs, checkpointId }
  }

  /** Saves writes of tasks. @throws ClaimLost  and nothing was written */
  async putWrites(address: CheckpointAddress, writes: readonly PendingWrite[], order?: WriteOrder): Promise<void> {
    this.hasSaved ||= writes.some(({ channel }) => channel !== "__resume__")
    await this.#push(() => ({ kind: "writes", address, writes }), order).written
    const [write] = writes
    if (write) this.#saved = { ...address, write }
  }

  /**
   * Ends the run after all its other writes, in the same transaction as the last of them, and closes. When Postgres rejects
   * the end itself, `ending` is called again with that error.
   * @param ending  makes the end; its argument is the error of the run's first rejected write
   * @throws Unavailable  the server stops before the end could be committed
   */
  async finish(
    ending: (failure: Error | undefined) => Ending,
    { after }: Pick<WriteOrder, "after"> = {},
  ): Promise<WrittenEnding> {
    try {
      return await this.#end(ending, { after }).catch((error: unknown) => {
        if (isPassing(error)) throw error
        return this.#end(ending, {})
      })
    } finally {
      this.close()
    }
  }

  async #end(ending: (failure: Error | undefined) => Ending, order: WriteOrder): Promise<WrittenEnding> {
    const write = (failure: Error | undefined): ClaimWrite => ({ kind: "ending", ending: ending(failure) })
    const item = this.#push(write, order, true)
    try {
      const { outcome, watched_by: watchedBy, waiting } = await item.written
      must(outcome !== "held", "X1", "a run whose end was committed is over", { run_id: this.fence.runId })
      return { outcome, watchedBy, waiting, isRepeated: item.isRepeated }
    } catch (error) {
      if (!(error instanceof ClaimLost)) throw error
      return { outcome: "claim_lost", watchedBy: [], waiting: null, isRepeated: item.isRepeated }
    }
  }

  /** Resolves when all requested writes are committed or rejected. */
  async settled(): Promise<void> {
    await this.#last
  }

  /** Called when the attempt is over: waiting and later writes are rejected. Writes being sent settle by themselves. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.refuseWaiting(new ClaimLost(this.fence.runId))
    this.#committer.closed(this)
  }

  /** Whether a batch should be sent now for this attempt's waiting writes. */
  get isDue(): boolean {
    if (this.isUnderWay) return false
    // A held write also holds back later ones.
    for (const { isHeld, isDue } of this.#waiting) {
      if (isHeld) return false
      if (isDue) return true
    }
    return false
  }

  /** Called when the waiting writes have waited long enough for others to join their batch (K6). */
  markDue(): void {
    for (const item of this.#waiting) item.isDue = true
  }

  /**
   * Takes the writes that may be sent now, in order (K1).
   * @param maxBytes  stops once this many bytes are taken
   */
  take(maxBytes: number): { items: QueuedWrite[]; bytes: number } {
    const items: QueuedWrite[] = []
    let bytes = 0
    for (let item = this.#waiting.peek(); item && !item.isHeld && bytes < maxBytes; item = this.#waiting.peek()) {
      this.#waiting.shift()
      // Writes after a rejected one would leave an incomplete state.
      if (this.failure && !item.isEnding) item.reject(this.failure)
      else {
        bytes += sizeOf(item.write(this.failure))
        items.push(item)
        if (item.isEnding) break
      }
    }
    return { items, bytes }
  }

  refuseWaiting(error: Error): void {
    const waiting = this.#waiting
    this.#waiting = new Fifo()
    for (const item of waiting) item.reject(error)
  }

  #push(write: QueuedWrite["write"], { after, mayWait = false }: WriteOrder = {}, isEnding = false): QueuedWrite {
    const item = new QueuedWrite(write, isEnding)
    if (this.#isClosed) {
      // The write is lost, whether or not the promise that it would wait for rejects.
      after?.catch(() => undefined)
      item.reject(new ClaimLost(this.fence.runId))
      return item
    }
    item.isHeld = after !== undefined
    item.isDue = !mayWait
    this.#waiting.push(item)
    this.#count(item)
    if (after)
      void after.then(
        () => this.#release(item, mayWait),
        (error: Error) => this.#drop(item, error),
      )
    else this.#committer.schedule(mayWait)
    return item
  }

  #count({ write, written, isEnding }: QueuedWrite): void {
    const bytes = isEnding ? 0 : sizeOf(write(undefined))
    this.#committer.count(bytes)
    const settled = () => this.#committer.count(-bytes)
    this.#last = written.then(settled, settled)
  }

  #release(item: QueuedWrite, mayWait: boolean): void {
    item.isHeld = false
    this.#committer.schedule(mayWait)
  }

  /** Drops a write whose `after` was rejected. */
  #drop(item: QueuedWrite, error: Error): void {
    const waiting = this.#waiting
    this.#waiting = new Fifo()
    for (const one of waiting) if (one !== item) this.#waiting.push(one)
    item.reject(error)
    this.#committer.schedule(false)
  }
}
