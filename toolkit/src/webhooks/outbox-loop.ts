/**
 * Empties an outbox of calls to other programs: takes what is due, makes the call, and stores the result. A notification
 * reports new entries; for retries the loop sleeps on one timer until the next is due, and it polls once in a while in case a
 * notification was lost. Calls under way when it stops are due again at once, for another process or the next start.
 */
import type { Database } from "../db/database.js"
import type { Subscription } from "../db/listen.js"
import type { Log } from "../log/log.js"

/** The outbox of one kind of delivery. */
export interface Outbox<Delivery> {
  /** Channels whose notifications report that something may be due. */
  readonly channels: readonly string[]
  /** Its name in the log: "webhooks". */
  readonly name: string
  /**
   * Takes what is due, and holds it so that no other process calls it meanwhile.
   * @param holdMs  longer than a call may take, in milliseconds
   * @param busy    owners of which none is to be taken
   */
  take(asked: {
    readonly limit: number
    readonly holdMs: number
    readonly busy: readonly string[]
  }): Promise<readonly Delivery[]>
  /** Whose it is. Receivers of one owner never take all calls; without owners nothing is shared out. */
  ownerOf?(delivery: Delivery): string
  /** What names it in the log. */
  fieldsOf?(delivery: Delivery): Readonly<Record<string, unknown>>
  /** When the next delivery is due, in milliseconds from now; undefined when none waits. */
  nextMs(): Promise<number | undefined>
  /**
   * Makes the call, and stores its result.
   * @param signal  aborts when the process stops: the call ends, and is stored as due again
   * @returns       whether it must be called again
   */
  deliver(delivery: Delivery, signal: AbortSignal): Promise<boolean>
  /** Called after each check. */
  afterLook?(): Promise<void>
}

export interface OutboxLoopOptions<Delivery> {
  readonly db: Database
  readonly log: Log
  readonly outbox: Outbox<Delivery>
  /** Limit for a whole call, in milliseconds. */
  readonly timeoutMs?: number | undefined
}

export const usualTimeoutMs = 15_000

// Calls mostly wait for receivers; a slow receiver must not delay the others.
const atATime = 16

// Of one owner, and as many less one when several are taken at once: so others have calls of their own.
const atATimeOfOne = 4

const sweepMs = 60_000

// While something is due that must wait for the end of a call, which wakes the loop.
const waitMs = 1000

// While something is due that could not be taken, since another transaction has it.
const lockedMs = 100

// After a failure of our own, such as an unreachable database.
const ownRetryMs = 5_000

export class OutboxLoop<Delivery> {
  readonly #options: OutboxLoopOptions<Delivery>
  /** With their owners. */
  readonly #calls = new Map<Promise<void>, string | undefined>()
  readonly #stopping = new AbortController()
  #subscriptions: Subscription[] = []
  #timer: NodeJS.Timeout | undefined
  #pass: Promise<void> | undefined
  #isWoken = false

  constructor(options: OutboxLoopOptions<Delivery>) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { db, outbox } = this.#options
    const wake = () => this.wake()
    this.#subscriptions = await Promise.all(outbox.channels.map((channel) => db.listen(channel, wake, wake)))
    this.wake()
  }

  /** Something may be due: checks now, or once more after the check under way. */
  wake(): void {
    this.#isWoken = true
    if (this.#stopping.signal.aborted) return
    this.#pass ??= this.#takeAll().finally(() => {
      this.#pass = undefined
      if (this.#isWoken) this.wake()
    })
  }

  /** Makes no more calls; resolves when the results of calls under way are stored. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#timer)
    await Promise.all(this.#subscriptions.map((subscription) => subscription.close()))
    await this.#pass
    await Promise.all(this.#calls.keys())
  }

  async #takeAll(): Promise<void> {
    const { outbox, log, timeoutMs = usualTimeoutMs } = this.#options
    let sleepMs = sweepMs
    let shortestMs = 1
    try {
      while (this.#isWoken && !this.#stopping.signal.aborted) {
        this.#isWoken = false
        const free = atATime - this.#calls.size
        // The end of a call checks again.
        if (free === 0) break
        const limit = outbox.ownerOf ? Math.min(free, atATimeOfOne) : free
        const taken = await outbox.take({ limit, holdMs: 2 * timeoutMs, busy: this.#busyOwners() })
        for (const delivery of taken) this.#track(delivery)
        if (taken.length === limit) this.#isWoken = true
        shortestMs = taken.length === 0 ? lockedMs : 1
      }
      await outbox.afterLook?.()
      if (this.#calls.size === atATime || this.#busyOwners().length > 0) shortestMs = waitMs
      sleepMs = Math.min(sleepMs, Math.max((await outbox.nextMs()) ?? sleepMs, shortestMs))
    } catch (err) {
      sleepMs = ownRetryMs
      log.warn({ err }, `${outbox.name} that are due could not be read`)
    }
    this.#sleep(sleepMs)
  }

  #track(delivery: Delivery): void {
    const { outbox, log } = this.#options
    const call = outbox
      .deliver(delivery, this.#stopping.signal)
      .then((isAgain) => {
        // Otherwise the loop would sleep to the end of the time for which the call was held.
        if (isAgain) this.wake()
      })
      .catch((err: unknown) => {
        log.warn(
          { err, ...outbox.fieldsOf?.(delivery) },
          `one of the ${outbox.name} failed before its result was stored`,
        )
        // It is tried again when its hold has expired, for which the loop then sleeps.
        this.wake()
      })
    this.#calls.set(call, outbox.ownerOf?.(delivery))
    void call.then(() => {
      const mayWait = this.#calls.size === atATime || this.#busyOwners().length > 0
      this.#calls.delete(call)
      if (mayWait) this.wake()
    })
  }

  #busyOwners(): string[] {
    const owners = [...this.#calls.values()].filter((owner) => owner !== undefined)
    return [...new Set(owners)].filter((owner) => owners.filter((it) => it === owner).length >= atATimeOfOne)
  }

  #sleep(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#stopping.signal.aborted) return
    this.#timer = setTimeout(() => this.wake(), ms)
    this.#timer.unref()
  }
}
