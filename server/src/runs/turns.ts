/**
 * Queues the runs of one thread in the order in which their requests arrived at this server (R3). The steps between arrival
 * and queue take different times: reading the body, the project's auth module, statements to the database. Requests do
 * these steps concurrently; only the insertion waits for its turn.
 *
 * A request that is slow for too long loses its place: its successor waits for it at most `maxWaitMs`, and later requests do
 * not wait for it again. Other threads are never delayed. So a slow auth module, or a client that sends half a body, delays
 * others by at most a second, and a request that creates a run from within its auth module does not wait forever.
 */

import { type Clock, realClock } from "@superstep/toolkit/time/clock"

// Longer than auth modules and bodies usually take, and short enough for requests behind one that hangs.
const defaultMaxWaitMs = 1000

export class Turns {
  readonly #maxWaitMs: number
  readonly #clock: Clock
  /** The last turn of each thread, until it is over. */
  readonly #last = new Map<string, Turn>()

  constructor({ maxWaitMs = defaultMaxWaitMs, clock = realClock }: { maxWaitMs?: number; clock?: Clock } = {}) {
    this.#maxWaitMs = maxWaitMs
    this.#clock = clock
  }

  /** How many threads have a turn that is not over. */
  get threads(): number {
    return this.#last.size
  }

  /** Takes the next turn of a thread. Its holder must end it, whatever happens to the request. */
  take(threadId: string): Turn {
    const turn = new Turn(this.#last.get(threadId)?.over, this.#maxWaitMs, this.#clock)
    this.#last.set(threadId, turn)
    void turn.over.then(() => {
      if (this.#last.get(threadId) === turn) this.#last.delete(threadId)
    })
    return turn
  }
}

export class Turn {
  /** Resolves when this turn has ended, and so have all earlier turns that it waits for. */
  readonly over: Promise<void>
  readonly #before: Promise<void> | undefined
  readonly #maxWaitMs: number
  readonly #clock: Clock
  #end: () => void = () => undefined
  #overtake: () => void = () => undefined

  constructor(before: Promise<void> | undefined, maxWaitMs: number, clock: Clock) {
    this.#maxWaitMs = maxWaitMs
    this.#clock = clock
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve
    })
    const overtaken = new Promise<void>((resolve) => {
      this.#overtake = resolve
    })
    this.#before = before && Promise.race([before, overtaken])
    this.over = Promise.all([ended, this.#before]).then(() => undefined)
  }

  /** Resolves when this turn has come. */
  async come(): Promise<void> {
    if (!this.#before) return
    const cancel = this.#clock.after(this.#maxWaitMs, this.#overtake)
    await this.#before
    cancel()
  }

  /** Called when the run is in the queue, or will not be. It may be called twice. */
  end(): void {
    this.#end()
  }
}
