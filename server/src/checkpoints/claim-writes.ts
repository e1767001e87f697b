/**
 * Commits what the attempts of this server write: checkpoints, writes of tasks, and how runs end.
 *
 * K1 Writes of a claim are committed in the order in which they were asked for; a claim has one batch under way.
 * K2 A write's promise resolves when it is committed. What comes while a batch is under way joins the next one, so that
 *    many runs, or many steps of a quick one, share a round trip and a commit.
 * K3 A write that Postgres refuses harms nobody else's: its batch is taken apart, and the run that asked for it fails.
 * K4 While the database is away writes wait; the claim decides afterwards whether they still count.
 * K5 A claim that was lost has lost all that waits for it, and one that is closed accepts nothing more.
 * K6 A write for which a graph waits is sent at once, and so is an end; what else is there goes along. Any other waits a
 *    few milliseconds so that more can join its batch: a quick run commits once, with its end.
 * K7 What waits is bounded: `backlog` tells who asks for more to wait.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Db } from "@superstep/toolkit/db/database"
import { isPassing } from "@superstep/toolkit/db/unavailable"
import type { Log } from "@superstep/toolkit/log/log"
import { ClaimLost, type Fence } from "../workers/fence.js"
import { AttemptWrites, type Committer, type QueuedWrite } from "./attempt-writes.js"
import { type ClaimOutcome, writeClaims } from "./queries.js"

// Two: one batch fills while the other commits. More only makes the batches smaller (docs/performance.md).
const mostBatches = 2
// A larger batch would hold up those who wait for the next one.
const mostBytes = 8 * 1024 * 1024
const retryDelayMs = 200
// What a database that is away may cost this process; then the workers wait.
const mostWaitingBytes = 32 * 1024 * 1024
// About what a node without a model takes, and far less than one with a model.
const gatherMs = 3

/** What one attempt has in a batch. */
interface Share {
  readonly attempt: AttemptWrites
  readonly items: readonly QueuedWrite[]
}

export class ClaimWrites implements Committer {
  readonly #db: Db
  readonly #log: Log
  /** Attempts whose writes are accepted, by claim id. */
  readonly #attempts = new Map<string, AttemptWrites>()
  #underWay = 0
  #isScheduled = false
  #gathering: NodeJS.Timeout | undefined
  #isClosed = false
  #waitingBytes = 0
  #room: Promise<void> | undefined
  #onRoom: () => void = () => undefined

  constructor({ db, log }: { db: Db; log: Log }) {
    this.#db = db
    this.#log = log
  }

  /** An attempt begins: from now on, until it is closed, its writes are accepted. */
  open(fence: Fence): AttemptWrites {
    const attempt = new AttemptWrites(fence, this)
    this.#attempts.set(fence.claimId, attempt)
    return attempt
  }

  /**
   * The writes of an attempt that a worker names.
   * @throws ClaimLost  the attempt is over, or was never this server's
   */
  of({ runId, claimId }: Fence): AttemptWrites {
    const attempt = this.#attempts.get(claimId)
    if (attempt?.fence.runId !== runId) throw new ClaimLost(runId)
    return attempt
  }

  /** What to wait for before more is asked for; undefined while there is room (K7). */
  backlog(): Promise<void> | undefined {
    if (this.#waitingBytes <= mostWaitingBytes) return undefined
    this.#room ??= new Promise((resolve) => {
      this.#onRoom = resolve
    })
    return this.#room
  }

  /** The server stops: what waits is tried once more, and given up when that fails. */
  close(): void {
    this.#isClosed = true
  }

  closed({ fence }: AttemptWrites): void {
    this.#attempts.delete(fence.claimId)
  }

  count(bytes: number): void {
    this.#waitingBytes += bytes
    if (bytes > 0 || this.#waitingBytes > mostWaitingBytes / 2) return
    this.#onRoom()
    this.#room = undefined
  }

  /** Everything of this tick joins the batch, or everything of the next few milliseconds. */
  schedule(mayWait: boolean): void {
    if (mayWait) {
      if (this.#gathering === undefined) this.#gathering = setTimeout(() => this.#endGathering(), gatherMs)
      return
    }
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => {
      this.#isScheduled = false
      this.#writeOn()
    })
  }

  #endGathering(): void {
    this.#gathering = undefined
    for (const attempt of this.#attempts.values()) attempt.markDue()
    this.#writeOn()
  }

  #writeOn(): void {
    while (this.#underWay < mostBatches && this.#isAnyDue()) {
      const shares = this.#take()
      if (shares.length === 0) return
      this.#underWay++
      for (const { attempt } of shares) attempt.isUnderWay = true
      void this.#write(shares).finally(() => {
        this.#underWay--
        for (const { attempt } of shares) attempt.isUnderWay = false
        this.#writeOn()
      })
    }
  }

  #isAnyDue(): boolean {
    for (const { isDue } of this.#attempts.values()) if (isDue) return true
    return false
  }

  /** What may be sent now: of each attempt as much as is ready. */
  #take(): Share[] {
    const shares: Share[] = []
    let room = mostBytes
    for (const attempt of this.#attempts.values()) {
      if (attempt.isUnderWay) continue
      const { items, bytes } = attempt.take(room)
      room -= bytes
      if (items.length > 0) shares.push({ attempt, items })
    }
    return shares
  }

  async #write(shares: readonly Share[]): Promise<void> {
    try {
      const outcomes = await this.#commit(shares)
      for (const outcome of outcomes) settle(shares[outcome.claim], outcome)
    } catch (error) {
      if (isPassing(error)) for (const share of shares) refuseAll(share, error as Error)
      else await this.#writeApart(shares, error as Error)
    }
  }

  /** Waits for the database as long as it takes (K4). */
  async #commit(shares: readonly Share[]): Promise<ClaimOutcome[]> {
    const batch = () =>
      shares.map(({ attempt, items }) => ({
        fence: attempt.fence,
        writes: items.map((item) => item.write(attempt.failure)),
      }))
    for (let isFirst = true; ; isFirst = false) {
      try {
        return await writeClaims(this.#db, batch())
      } catch (error) {
        if (!isPassing(error) || (this.#isClosed && !isFirst)) throw error
        if (isFirst) this.#log.warn({ err: error, claims: shares.length }, "what runs wrote could not be committed yet")
        for (const { items } of shares) for (const item of items) item.isRepeated = true
        await sleep(retryDelayMs)
      }
    }
  }

  /** One of them is refused, and the others are kept (K3). */
  async #writeApart(shares: readonly Share[], error: Error): Promise<void> {
    const [only] = shares
    if (!only) return
    const { attempt, items } = only
    if (shares.length > 1) {
      for (const share of shares) await this.#write([share])
    } else if (items.length > 1) {
      for (const item of items) {
        if (attempt.failure && !item.isEnding) item.reject(attempt.failure)
        else await this.#write([{ attempt, items: [item] }])
      }
    } else {
      this.#log.error({ err: error, run_id: attempt.fence.runId }, "a write of a run was refused")
      attempt.failure ??= error
      refuse(only, error)
    }
  }
}

function settle(share: Share | undefined, outcome: ClaimOutcome): void {
  if (!share) return
  const { attempt, items } = share
  if (outcome.outcome !== "claim_lost") {
    for (const item of items) item.resolve(outcome)
    return
  }
  // K5
  refuseAll(share, new ClaimLost(attempt.fence.runId))
}

/** Refuses these and all that waits behind them. */
function refuseAll(share: Share, error: Error): void {
  refuse(share, error)
  share.attempt.refuseWaiting(error)
}

function refuse({ items }: Share, error: Error): void {
  for (const item of items) item.reject(error)
}
