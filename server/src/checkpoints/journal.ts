/**
 * Commits what this server's attempts write: events of runs that have a log (B1), checkpoints, writes of tasks, and ends of runs.
 *
 * K1 What a claim writes is committed in the order of the requests, so no checkpoint is there without the events that led to it; a claim
 *    has one batch at a time.
 * K2 A write's promise resolves when it is committed; clients get an event then, and none that is not in the log. Writes that arrive
 *    while a batch is being sent join the next batch, so that many runs, or many steps of a fast run, share a round trip and a commit.
 * K3 A write that Postgres rejects does not affect the writes of other claims: its batch is split, and its own run fails. A rejected
 *    event is dropped and reported, and its run goes on.
 * K4 While the database is unavailable writes wait; afterwards the claim decides whether they are still valid.
 * K5 When a claim is lost, all its waiting writes are lost. A closed attempt accepts no more writes.
 * K6 A write for which a graph waits is sent at once, together with other waiting writes; so are events and an end. Any other write
 *    waits a few milliseconds so that more writes can join its batch: a fast run commits once, with its end. If the thread of the write goes
 *    with its run, it waits longer, and joins no batch of other runs: what is still waiting when the run ends is not written at all. Its worker
 *    need not wait for it; who reads the thread meanwhile calls `flush` first.
 * K7 Waiting writes are bounded: while too many bytes wait, `backlog` returns a promise to wait for. Events are bounded for each run, too;
 *    each counts with what its object takes, so the number of events is bounded.
 * K8 A batch names what the attempt knows to be committed. If the database does not have that, it has lost commits: a standby was
 *    promoted, or a backup restored. Then the run goes on from what there is, in a new attempt.
 * K9 Each claim gets an equal share of a batch, so a run that writes much does not delay the others.
 * K10 A row that another transaction has locked delays only its own claim: a batch that waits too long is split, and the share of the
 *    locked row is tried again by itself.
 */
import type { Db } from "@superstep/toolkit/db/database"
import { isPassing, LockTimeout } from "@superstep/toolkit/db/unavailable"
import { must } from "@superstep/toolkit/errors/must"
import type { Log } from "@superstep/toolkit/log/log"
import { type Clock, pauseFor, realClock } from "@superstep/toolkit/time/clock"
import { ClaimLost, type Fence } from "../workers/fence.js"
import { AttemptJournal, type Committer, type QueuedWrite, type WritingAttempt } from "./attempt-journal.js"
import { type ClaimOutcome, writeClaims } from "./queries.js"

// Two: one batch fills while the other commits. More batches would only be smaller (bench/measurements.md).
const maxBatches = 2
// A larger batch would delay the writes of the next one.
const maxBytes = 8 * 1024 * 1024
const retryDelayMs = 200
// Commits of others hold a row for some milliseconds.
const lockMs = 2_000
// Of a share that is sent apart, which must not occupy its connection: at first, and at most.
const lockApartMs = 50
const mostLockApartMs = 500
// The memory that waiting writes may use while the database is unavailable; above it the workers wait.
const maxWaitingBytes = 32 * 1024 * 1024

/** One attempt's writes in a batch. */
interface Share {
  readonly attempt: AttemptJournal
  readonly items: readonly QueuedWrite[]
}

export class Journal implements Committer {
  readonly #db: Db
  readonly #log: Log
  readonly clock: Clock
  /** Attempts whose writes are accepted, by claim id. */
  readonly #attempts = new Map<string, AttemptJournal>()
  #underWay = 0
  #isScheduled = false
  #isClosed = false
  #waitingBytes = 0
  #room: Promise<void> | undefined
  #onRoom: () => void = () => undefined

  constructor({ db, log, clock = realClock }: { db: Db; log: Log; clock?: Clock }) {
    this.#db = db
    this.#log = log
    this.clock = clock
  }

  /** Called when an attempt starts: its writes are accepted until it is closed. */
  open(fence: Fence, attempt?: WritingAttempt): AttemptJournal {
    const journal = new AttemptJournal(fence, this, attempt)
    this.#attempts.set(fence.claimId, journal)
    return journal
  }

  /**
   * Finds the writes of an attempt by a worker's claim.
   * @throws ClaimLost  the attempt is over, or never belonged to this server
   */
  of({ runId, claimId }: Fence): AttemptJournal {
    const attempt = this.#attempts.get(claimId)
    if (attempt?.fence.runId !== runId) throw new ClaimLost(runId)
    return attempt
  }

  /** Commits what waits for a thread that goes with its run, so that a read finds it (K6). */
  async flush(threadId: string): Promise<void> {
    for (const attempt of this.#attempts.values()) if (attempt.goesWithRun(threadId)) await attempt.settled()
  }

  /** Reads what an end is composed from; waits for the database like a write (K4). */
  async read<T>(read: (db: Db) => Promise<T>): Promise<T> {
    for (let isFirst = true; ; isFirst = false) {
      try {
        return await read(this.#db)
      } catch (error) {
        if (!isPassing(error) || (this.#isClosed && !isFirst)) throw error
        await pauseFor(this.clock, retryDelayMs)
      }
    }
  }

  /** A promise to wait for before requesting more writes; undefined while there is room (K7). */
  backlog(): Promise<void> | undefined {
    if (this.#waitingBytes <= maxWaitingBytes) return undefined
    this.#room ??= new Promise((resolve) => {
      this.#onRoom = resolve
    })
    return this.#room
  }

  /** Called when the server stops: waiting writes are tried once more, and given up when that fails. */
  close(): void {
    this.#isClosed = true
  }

  closed({ fence }: AttemptJournal): void {
    this.#attempts.delete(fence.claimId)
  }

  count(bytes: number): void {
    this.#waitingBytes += bytes
    if (bytes > 0 || this.#waitingBytes > maxWaitingBytes / 2) return
    this.#onRoom()
    this.#room = undefined
  }

  /** Schedules a batch at the end of this tick. */
  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => {
      this.#isScheduled = false
      this.#writeOn()
    })
  }

  #writeOn(): void {
    while (this.#underWay < maxBatches && this.#isAnyDue()) {
      const shares = this.#take()
      if (shares.length === 0) return
      this.#underWay++
      void this.#launch(shares).finally(() => {
        this.#underWay--
        this.#writeOn()
      })
    }
  }

  /** @param isApart  whether this is the one share of a batch that was split: it has no place among the batches */
  async #launch(shares: readonly Share[], isApart = false): Promise<void> {
    const writing = this.#write(shares, isApart)
    for (const { attempt } of shares) attempt.underWay = writing
    await writing
    for (const { attempt } of shares) if (attempt.underWay === writing) attempt.underWay = undefined
  }

  /**
   * Sends the shares separately after Postgres rejected one of them (K3), or one has waited too long for a lock (K10). The batch is over, and
   * others may begin.
   */
  #launchApart(shares: readonly Share[]): void {
    for (const share of shares) void this.#launch([share], true).finally(() => this.#writeOn())
  }

  #isAnyDue(): boolean {
    for (const { isDue } of this.#attempts.values()) if (isDue) return true
    return false
  }

  /** Takes the writes that may be sent now, an equal share of each attempt (K9). */
  #take(): Share[] {
    const free = [...this.#attempts.values()].filter(({ mayJoin }) => mayJoin)
    const shares = free.map((attempt) => ({ attempt, items: attempt.take(maxBytes / free.length) }))
    return shares.filter(({ items }) => items.length > 0)
  }

  async #write(shares: readonly Share[], isApart: boolean): Promise<void> {
    let outcomes: ClaimOutcome[]
    try {
      outcomes = await this.#commit(shares, isApart)
    } catch (error) {
      const [only] = shares
      if (!isApart && (!isPassing(error) || error instanceof LockTimeout)) this.#launchApart(shares)
      else if (isPassing(error)) for (const share of shares) refuseAll(share, error as Error)
      else if (only) await this.#writeApart(only, error as Error)
      return
    }
    const claims = new Set(outcomes.map(({ claim }) => claim))
    must(claims.size === shares.length, "C2", "each claim of a batch has one outcome", { shares: shares.length })
    for (const outcome of outcomes) this.#settle(shares[outcome.claim], outcome)
  }

  /** Retries until the database is available (K4). @throws LockTimeout  unless it is apart: then it is tried again until it has the lock */
  async #commit(shares: readonly Share[], isApart: boolean): Promise<ClaimOutcome[]> {
    const isOne = new Set(shares.map(({ attempt }) => attempt)).size === shares.length
    must(isOne, "K1", "a claim has one batch at a time", { shares: shares.length })
    const batch = () =>
      shares.map(({ attempt, items }) => ({
        fence: attempt.fence,
        acknowledged: attempt.acknowledged,
        writes: items.map((item) => item.write(attempt.failure)),
      }))
    for (let failures = 0; ; failures++) {
      const isFirst = failures === 0
      try {
        const waitMs = isApart ? Math.min(lockApartMs * 2 ** failures, mostLockApartMs) : lockMs
        const outcomes = await writeClaims(this.#db, batch(), waitMs)
        if (!isFirst) this.#log.info({ claims: shares.length, promise: "D8" }, "writes that had waited were committed")
        return outcomes
      } catch (error) {
        if (!isPassing(error) || (this.#isClosed && !isFirst)) throw error
        const isLocked = error instanceof LockTimeout
        if (isLocked && !isApart) throw error
        if (isFirst)
          this.#log.warn({ err: error, claims: shares.length }, "writes of runs could not be committed, will retry")
        // Nothing is committed by a statement that did not get its locks.
        if (!isLocked) for (const { items } of shares) for (const item of items) item.isRepeated = true
        await pauseFor(this.clock, retryDelayMs)
      }
    }
  }

  #settle(share: Share | undefined, outcome: ClaimOutcome): void {
    must(share, "C2", "an outcome belongs to a claim of the batch", { claim: outcome.claim })
    const { attempt, items } = share
    const { runId } = attempt.fence
    try {
      attempt.settleEvents(items, outcome)
    } catch (err) {
      // What was committed is committed, whatever its readers make of it.
      this.#log.error({ err, run_id: runId }, "events of a run could not be delivered")
    }
    if (outcome.outcome !== "claim_lost") {
      for (const item of items) item.resolve(outcome)
      return
    }
    this.#log.info({ run_id: runId, writes: items.length, promise: "D5" }, "late writes of a run were refused")
    // K5
    refuseAll(share, new ClaimLost(runId))
  }

  /** Writes what Postgres has rejected one by one, so that only that is lost which it rejects (K3). */
  async #writeApart(share: Share, error: Error): Promise<void> {
    const { attempt, items } = share
    const [only] = items
    if (items.length > 1) {
      for (const item of items) {
        const refusal = attempt.refusal ?? (item.isEnding || item.events ? undefined : attempt.failure)
        if (refusal) item.reject(refusal)
        else await this.#write([{ attempt, items: [item] }], true)
      }
    } else if (only?.events) {
      await this.#writeEventsApart(attempt, only, error)
    } else {
      this.#log.error({ err: error, run_id: attempt.fence.runId }, "Postgres rejected a write of a run")
      attempt.failure ??= error
      refuse(share, error)
    }
  }

  async #writeEventsApart(attempt: AttemptJournal, item: QueuedWrite, error: Error): Promise<void> {
    const { events = [] } = item
    if (events.length === 1) {
      const facts = { err: error, run_id: attempt.fence.runId, seq: events[0]?.seq }
      this.#log.error(facts, "an event could not be logged and was dropped")
      return item.reject(error)
    }
    for (const one of attempt.apart(item)) {
      if (attempt.refusal) break
      // Its rejection was reported.
      one.written.catch(() => undefined)
      await this.#write([{ attempt, items: [one] }], true)
    }
    item.reject(error)
  }
}

/** Rejects these writes and all later ones of the attempt. */
function refuseAll(share: Share, error: Error): void {
  refuse(share, error)
  share.attempt.refuseWaiting(() => error)
}

function refuse({ items }: Share, error: Error): void {
  for (const item of items) item.reject(error)
}
