/**
 * What the runs of this server write, on its way to the database: checkpoints, writes of tasks, and how runs end.
 *
 * K1 Writes of a claim are committed in the order in which they were asked for; a claim has one batch under way.
 * K2 A write's promise is kept when it is committed. What comes while a batch is under way joins the next one, so that
 *    many runs, or many steps of a quick one, share a round trip and a commit.
 * K3 A write that Postgres refuses harms nobody else's: its batch is taken apart, and the run that asked for it fails.
 * K4 While the database is away writes wait; the claim decides afterwards whether they still count.
 * K5 A claim that was lost has lost all that still waits for it.
 * K6 A write for which a graph waits goes out at once, and so does an end; what else is there goes along. Any other waits a
 *    few milliseconds for company: a quick run commits once, with its end.
 * K7 What waits is bounded: `backlog` tells who asks for more to wait.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Db } from "@superstep/toolkit/db/database"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import type { Log } from "@superstep/toolkit/log/log"
import { ClaimLost, type Fence } from "../workers/fence.js"
import type { CheckpointAddress, NewCheckpoint, PendingWrite } from "./checkpoint.js"
import { type ClaimWrite, type Ending, sizeOf } from "./claim-batch.js"
import { type ClaimOutcome, writeClaims } from "./queries.js"

// Two: one batch fills while the other commits. More only makes the batches smaller (docs/performance.md).
const mostBatches = 2
// A larger batch would hold up those who wait for the next one.
const mostBytes = 8 * 1024 * 1024
const retryDelayMs = 200
// What a database that is away may cost this process; then the workers wait.
const mostWaitingBytes = 32 * 1024 * 1024
// About what a node without a model takes, and far less than one with a model.
const companyMs = 3

/** When a write may go out. */
export interface WriteOrder {
  /** What must be committed first, such as the events that led to it. Rejected, nothing of the write happens. */
  readonly after?: Promise<void> | undefined
  /** The graph goes on meanwhile (K6). */
  readonly mayWait?: boolean
}

export interface WrittenEnding {
  readonly outcome: "claim_lost" | "finished" | "rolled_back"
  readonly watchedBy: readonly string[]
  /** An earlier try may have been committed without our hearing of it; `claim_lost` may then mean that. */
  readonly isRepeated: boolean
}

interface Item {
  /** Made when it is sent: an ending depends on whether the writes before it were kept. */
  readonly write: (failure: Error | undefined) => ClaimWrite
  readonly isEnding: boolean
  /** Something else must be committed first. */
  isHeld: boolean
  /** It need not wait for others any more (K6). */
  isDue: boolean
  isRepeated: boolean
  resolve(outcome: ClaimOutcome): void
  reject(error: unknown): void
}

interface ClaimQueue {
  readonly fence: Fence
  items: Item[]
  isUnderWay: boolean
  /** The first write that Postgres refused. */
  failure: Error | undefined
  /** Settles with the last write that was asked for. */
  last: Promise<unknown>
}

interface Part {
  readonly queue: ClaimQueue
  readonly items: readonly Item[]
}

export class ClaimWrites {
  readonly #db: Db
  readonly #log: Log
  readonly #claims = new Map<string, ClaimQueue>()
  #underWay = 0
  #isScheduled = false
  #company: NodeJS.Timeout | undefined
  #isClosed = false
  #waitingBytes = 0
  #room: Promise<void> | undefined
  #onRoom: () => void = () => undefined

  constructor({ db, log }: { db: Db; log: Log }) {
    this.#db = db
    this.#log = log
  }

  /** Saves a checkpoint with its new blobs. @throws ClaimLost  and nothing was written */
  async putCheckpoint(fence: Fence, checkpoint: NewCheckpoint, order?: WriteOrder): Promise<void> {
    await this.#push(this.#queueOf(fence), () => ({ kind: "checkpoint", checkpoint }), order).written
  }

  /** Saves writes of tasks. @throws ClaimLost  and nothing was written */
  async putWrites(
    fence: Fence,
    address: CheckpointAddress,
    writes: readonly PendingWrite[],
    order?: WriteOrder,
  ): Promise<void> {
    await this.#push(this.#queueOf(fence), () => ({ kind: "writes", address, writes }), order).written
  }

  /**
   * Ends a run after everything else that it wrote, in the same transaction as the last of it.
   * @param ending  makes the end; it is told when one of the run's writes was refused
   */
  async finish(
    fence: Fence,
    ending: (failure: Error | undefined) => Ending,
    { after }: Pick<WriteOrder, "after"> = {},
  ): Promise<WrittenEnding> {
    const queue = this.#queueOf(fence)
    const item = this.#push(queue, (failure) => ({ kind: "ending", ending: ending(failure) }), {
      after,
      isEnding: true,
    })
    try {
      const { outcome, watched_by: watchedBy } = await item.written
      if (outcome === "held") throw new Error(`run ${fence.runId} was written and did not end`)
      return { outcome, watchedBy, isRepeated: item.isRepeated() }
    } catch (error) {
      if (!(error instanceof ClaimLost)) throw error
      return { outcome: "claim_lost", watchedBy: [], isRepeated: item.isRepeated() }
    } finally {
      this.forget(fence)
    }
  }

  /** Resolves when all that a claim has asked for is committed or refused, and forgets the claim. */
  async settled(fence: Fence): Promise<void> {
    await this.#claims.get(fence.claimId)?.last
    this.forget(fence)
  }

  /** The claim is over: what still comes for it is lost (K5). */
  forget({ runId, claimId }: Fence): void {
    const queue = this.#claims.get(claimId)
    this.#claims.delete(claimId)
    if (queue) refuseAll({ queue, items: [] }, new ClaimLost(runId))
  }

  /** What to wait for before more is asked for; undefined while there is room (K7). */
  backlog(): Promise<void> | undefined {
    if (this.#waitingBytes <= mostWaitingBytes) return undefined
    this.#room ??= new Promise((resolve) => {
      this.#onRoom = resolve
    })
    return this.#room
  }

  /** Tries what waits once more, and gives it up when that fails. */
  close(): void {
    this.#isClosed = true
  }

  #queueOf(fence: Fence): ClaimQueue {
    const known = this.#claims.get(fence.claimId)
    if (known) return known
    const queue = { fence, items: [], isUnderWay: false, failure: undefined, last: Promise.resolve() }
    this.#claims.set(fence.claimId, queue)
    return queue
  }

  #push(
    queue: ClaimQueue,
    write: Item["write"],
    { after, mayWait = false, isEnding = false }: WriteOrder & { isEnding?: boolean } = {},
  ) {
    let item: Item | undefined
    const written = new Promise<ClaimOutcome>((resolve, reject) => {
      item = { write, isEnding, isHeld: after !== undefined, isDue: !mayWait, isRepeated: false, resolve, reject }
      queue.items.push(item)
    })
    const bytes = isEnding ? 0 : sizeOf(write(undefined))
    this.#waitingBytes += bytes
    const settled = () => this.#makeRoom(bytes)
    queue.last = written.then(settled, settled)
    const release = () => {
      if (item) item.isHeld = false
      this.#schedule(mayWait)
    }
    const drop = (error: Error) => {
      queue.items = queue.items.filter((one) => one !== item)
      item?.reject(error)
      this.#schedule(mayWait)
    }
    if (after) void after.then(release, drop)
    else this.#schedule(mayWait)
    return { written, isRepeated: () => item?.isRepeated ?? false }
  }

  #makeRoom(bytes: number): void {
    this.#waitingBytes -= bytes
    if (this.#waitingBytes > mostWaitingBytes / 2) return
    this.#onRoom()
    this.#room = undefined
  }

  /** Everything of this tick joins the batch, or everything of the next few milliseconds. */
  #schedule(mayWait: boolean): void {
    if (mayWait) {
      if (this.#company === undefined) this.#company = setTimeout(() => this.#endWait(), companyMs)
      return
    }
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => {
      this.#isScheduled = false
      this.#writeOn()
    })
  }

  #endWait(): void {
    this.#company = undefined
    for (const { items } of this.#claims.values()) for (const item of items) item.isDue = true
    this.#writeOn()
  }

  #writeOn(): void {
    while (this.#underWay < mostBatches && this.#isAnyDue()) {
      const parts = this.#take()
      if (parts.length === 0) return
      this.#underWay++
      void this.#write(parts).finally(() => {
        this.#underWay--
        for (const { queue } of parts) this.#leave(queue)
        this.#writeOn()
      })
    }
  }

  #isAnyDue(): boolean {
    for (const { items, isUnderWay } of this.#claims.values()) {
      if (isUnderWay) continue
      // One that is held holds back those behind it.
      for (const item of items) {
        if (item.isHeld) break
        if (item.isDue) return true
      }
    }
    return false
  }

  #leave(queue: ClaimQueue): void {
    queue.isUnderWay = false
    if (queue.items.length === 0 && queue.failure === undefined) this.#claims.delete(queue.fence.claimId)
  }

  /** What may be written now: of each claim as much as is ready, in order (K1). */
  #take(): Part[] {
    const parts: Part[] = []
    let bytes = 0
    for (const queue of this.#claims.values()) {
      if (queue.isUnderWay) continue
      const items: Item[] = []
      for (let item = queue.items[0]; item && !item.isHeld && bytes < mostBytes; item = queue.items[0]) {
        queue.items.shift()
        // What comes after a hole would make it look like a state.
        if (queue.failure && !item.isEnding) item.reject(queue.failure)
        else {
          bytes += sizeOf(item.write(queue.failure))
          items.push(item)
          if (item.isEnding) break
        }
      }
      if (items.length === 0) continue
      queue.isUnderWay = true
      parts.push({ queue, items })
    }
    return parts
  }

  async #write(parts: readonly Part[]): Promise<void> {
    try {
      const outcomes = await this.#commit(parts)
      for (const outcome of outcomes) settle(parts[outcome.claim], outcome)
    } catch (error) {
      if (isPassing(error)) for (const part of parts) refuseAll(part, error as Error)
      else await this.#writeApart(parts, error as Error)
    }
  }

  /** Waits for the database as long as it takes (K4). */
  async #commit(parts: readonly Part[]): Promise<ClaimOutcome[]> {
    const batch = () =>
      parts.map(({ queue, items }) => ({
        fence: queue.fence,
        writes: items.map((item) => item.write(queue.failure)),
      }))
    for (let isFirst = true; ; isFirst = false) {
      try {
        return await writeClaims(this.#db, batch())
      } catch (error) {
        if (!isPassing(error) || (this.#isClosed && !isFirst)) throw error
        if (isFirst) this.#log.warn({ err: error, claims: parts.length }, "what runs wrote could not be committed yet")
        for (const { items } of parts) for (const item of items) item.isRepeated = true
        await sleep(retryDelayMs)
      }
    }
  }

  /** One of them is refused, and takes nobody along (K3). */
  async #writeApart(parts: readonly Part[], error: Error): Promise<void> {
    const [only] = parts
    if (!only) return
    if (parts.length > 1) {
      for (const part of parts) await this.#write([part])
    } else if (only.items.length > 1) {
      for (const item of only.items) {
        if (only.queue.failure && !item.isEnding) item.reject(only.queue.failure)
        else await this.#write([{ queue: only.queue, items: [item] }])
      }
    } else {
      this.#log.error({ err: error, run_id: only.queue.fence.runId }, "a write of a run was refused")
      only.queue.failure ??= error
      refuse(only, error)
    }
  }
}

function settle(part: Part | undefined, outcome: ClaimOutcome): void {
  if (!part) return
  const { queue, items } = part
  if (outcome.outcome !== "claim_lost") {
    for (const item of items) item.resolve(outcome)
    return
  }
  // K5
  refuseAll(part, new ClaimLost(queue.fence.runId))
}

/** Refuses these and all that waits behind them. */
function refuseAll({ queue, items }: Part, error: Error): void {
  const waiting = queue.items
  queue.items = []
  refuse({ queue, items: [...items, ...waiting] }, error)
}

function refuse({ items }: Part, error: Error): void {
  for (const item of items) item.reject(error)
}
