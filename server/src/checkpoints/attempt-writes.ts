/**
 * What one attempt writes, in order, until it is committed or refused. The object lives from the claim to the end of the
 * attempt, and nothing else knows of these writes: what is asked for after `close` is refused, and never queued (K5).
 */
import { isPassing } from "@superstep/toolkit/db/unavailable"
import { ClaimLost, type Fence } from "../workers/fence.js"
import type { CheckpointAddress, NewCheckpoint, PendingWrite } from "./checkpoint.js"
import { type ClaimWrite, type Ending, sizeOf } from "./claim-batch.js"
import type { ClaimOutcome } from "./queries.js"

/** When a write may be sent. */
export interface WriteOrder {
  /** What must be committed first, such as the events that led to it. If it rejects, nothing of the write happens. */
  readonly after?: Promise<void> | undefined
  /** The graph does not wait for it (K6). */
  readonly mayWait?: boolean
}

export interface WrittenEnding {
  readonly outcome: "claim_lost" | "finished" | "rolled_back"
  readonly watchedBy: readonly string[]
  /** An earlier try may have been committed without our hearing of it; `claim_lost` may then mean that. */
  readonly isRepeated: boolean
}

/** One write that was asked for. */
export class QueuedWrite {
  /** Made when it is sent: an ending depends on whether the writes before it were kept. */
  readonly write: (failure: Error | undefined) => ClaimWrite
  readonly isEnding: boolean
  /** Settles once the write is committed or refused. */
  readonly written: Promise<ClaimOutcome>
  resolve!: (outcome: ClaimOutcome) => void
  reject!: (error: unknown) => void
  /** Something else must be committed first. */
  isHeld = false
  /** It does not wait for other writes to join its batch any more (K6). */
  isDue = false
  /** It was sent before, and no answer came. */
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

/** Who commits the writes of all attempts. */
export interface Committer {
  /** There is something new to send. */
  schedule(mayWait: boolean): void
  /** So many more bytes wait, or fewer. */
  count(bytes: number): void
  /** No write of the attempt is accepted any more. */
  closed(attempt: AttemptWrites): void
}

export class AttemptWrites {
  readonly fence: Fence
  /** A batch with writes of this attempt is on its way; there is never a second one (K1). */
  isUnderWay = false
  /** The first write that Postgres refused. */
  failure: Error | undefined
  readonly #committer: Committer
  #waiting: QueuedWrite[] = []
  /** Settles with the last write that was asked for. */
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(fence: Fence, committer: Committer) {
    this.fence = fence
    this.#committer = committer
  }

  /** Saves a checkpoint with its new blobs. @throws ClaimLost  and nothing was written */
  async putCheckpoint(checkpoint: NewCheckpoint, order?: WriteOrder): Promise<void> {
    await this.#push(() => ({ kind: "checkpoint", checkpoint }), order).written
  }

  /** Saves writes of tasks. @throws ClaimLost  and nothing was written */
  async putWrites(address: CheckpointAddress, writes: readonly PendingWrite[], order?: WriteOrder): Promise<void> {
    await this.#push(() => ({ kind: "writes", address, writes }), order).written
  }

  /**
   * Ends the run after everything else that it wrote, in the same transaction as the last of it, and closes. Where
   * Postgres refuses the end itself, it is made once more, with that refusal as its failure.
   * @param ending  makes the end; its argument is the first of the run's writes that was refused
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
      const { outcome, watched_by: watchedBy } = await item.written
      if (outcome === "held") throw new Error(`run ${this.fence.runId} was written and did not end`)
      return { outcome, watchedBy, isRepeated: item.isRepeated }
    } catch (error) {
      if (!(error instanceof ClaimLost)) throw error
      return { outcome: "claim_lost", watchedBy: [], isRepeated: item.isRepeated }
    }
  }

  /** Resolves when all that was asked for is committed or refused. */
  async settled(): Promise<void> {
    await this.#last
  }

  /** The attempt is over: what waits is refused, and so is what still comes. What is on its way settles by itself. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.refuseWaiting(new ClaimLost(this.fence.runId))
    this.#committer.closed(this)
  }

  /** Whether a batch should be sent now for what this attempt has waiting. */
  get isDue(): boolean {
    if (this.isUnderWay) return false
    // A write that is held holds back those behind it.
    for (const { isHeld, isDue } of this.#waiting) {
      if (isHeld) return false
      if (isDue) return true
    }
    return false
  }

  /** What waits has waited long enough for others to join its batch (K6). */
  markDue(): void {
    for (const item of this.#waiting) item.isDue = true
  }

  /**
   * Takes what may be sent now, in order (K1).
   * @param mostBytes  no more is taken once this much is
   */
  take(mostBytes: number): { items: QueuedWrite[]; bytes: number } {
    const items: QueuedWrite[] = []
    let bytes = 0
    for (let item = this.#waiting[0]; item && !item.isHeld && bytes < mostBytes; item = this.#waiting[0]) {
      this.#waiting.shift()
      // What comes after a hole would make it look like a state.
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
    this.#waiting = []
    for (const item of waiting) item.reject(error)
  }

  #push(write: QueuedWrite["write"], { after, mayWait = false }: WriteOrder = {}, isEnding = false): QueuedWrite {
    const item = new QueuedWrite(write, isEnding)
    if (this.#isClosed) {
      // Whatever becomes of what it had to wait for, the write is lost.
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

  /** What had to be committed first is lost. */
  #drop(item: QueuedWrite, error: Error): void {
    this.#waiting = this.#waiting.filter((one) => one !== item)
    item.reject(error)
    this.#committer.schedule(false)
  }
}
