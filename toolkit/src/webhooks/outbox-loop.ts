/**
 * Empties an outbox of calls to other programs: what is due is taken, called, and noted. A notification tells of what was
 * added; for what waits to be tried again it sleeps on one timer until the next is due, and looks once in a while in case
 * a notification was lost. What is under way when it stops is due again at once, for another process or the next start.
 */
import type { Database } from "../db/database.js"
import type { Subscription } from "../db/listen.js"
import type { Log } from "../log/log.js"

/** The outbox of one kind of delivery. */
export interface Outbox<Delivery> {
  /** Notifications that tell that something may be due. */
  readonly channels: readonly string[]
  /** What it is called in the log: "webhooks". */
  readonly name: string
  /**
   * Takes what is due, for so long that no other process calls it meanwhile.
   * @param holdMs  longer than a call may take, in milliseconds
   */
  take(asked: { readonly limit: number; readonly holdMs: number }): Promise<readonly Delivery[]>
  /** When the next delivery is due, in milliseconds from now; undefined when none waits. */
  nextMs(): Promise<number | undefined>
  /**
   * Calls, and notes what came of it.
   * @param signal  aborts when the process stops: the call ends, and is noted as due again
   * @returns       whether it is to be called again
   */
  deliver(delivery: Delivery, signal: AbortSignal): Promise<boolean>
  /** Done after each look. */
  afterLook?(): Promise<void>
}

export interface OutboxLoopOptions<Delivery> {
  readonly db: Database
  readonly log: Log
  readonly outbox: Outbox<Delivery>
  /** For a whole call, in milliseconds. */
  readonly timeoutMs?: number | undefined
}

export const usualTimeoutMs = 15_000

// Receivers are waited for nearly all the time; a slow one should not keep the others from hearing.
const atATime = 16

const sweepMs = 60_000

// After a failure of our own, such as a database that is away.
const ownRetryMs = 5_000

export class OutboxLoop<Delivery> {
  readonly #options: OutboxLoopOptions<Delivery>
  readonly #calls = new Set<Promise<void>>()
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

  /** Something may be due: looks now, or once more when it is looking already. */
  wake(): void {
    this.#isWoken = true
    if (this.#stopping.signal.aborted) return
    this.#pass ??= this.#takeAll().finally(() => {
      this.#pass = undefined
      if (this.#isWoken) this.wake()
    })
  }

  /** Calls nobody any more; resolves when what was under way is written. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#timer)
    await Promise.all(this.#subscriptions.map((subscription) => subscription.close()))
    await this.#pass
    await Promise.all(this.#calls)
  }

  async #takeAll(): Promise<void> {
    const { outbox, log, timeoutMs = usualTimeoutMs } = this.#options
    let sleepMs = sweepMs
    try {
      while (this.#isWoken && !this.#stopping.signal.aborted) {
        this.#isWoken = false
        const limit = atATime - this.#calls.size
        // The end of a call looks again.
        if (limit === 0) break
        const taken = await outbox.take({ limit, holdMs: 2 * timeoutMs })
        for (const delivery of taken) this.#track(delivery)
        if (taken.length === limit) this.#isWoken = true
      }
      await outbox.afterLook?.()
      sleepMs = Math.min(sleepMs, (await outbox.nextMs()) ?? sleepMs)
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
        // Until now the loop slept to the end of the time for which the call was held.
        if (isAgain) this.wake()
      })
      // What could not be written is tried again when its time to be held is over.
      .catch((err: unknown) => log.warn({ err }, `what came of one of the ${outbox.name} could not be written`))
    this.#calls.add(call)
    void call.then(() => {
      const wasFull = this.#calls.size === atATime
      this.#calls.delete(call)
      if (wasFull) this.wake()
    })
  }

  #sleep(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#stopping.signal.aborted) return
    this.#timer = setTimeout(() => this.wake(), Math.max(1, ms))
    this.#timer.unref()
  }
}
