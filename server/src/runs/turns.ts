/**
 * Runs that are asked for on one thread are queued in the order in which their requests arrived here (R3). What comes
 * between arrival and queue takes differently long: a body, the project's auth module, questions to the database. It is
 * done for all requests at once; only the insertion waits for its turn.
 *
 * A request that is slow for long loses its place, and nobody holds up other threads: its successor waits for it for at
 * most `patienceMs`, and those behind that one do not wait for it again. So a slow auth module, or a client that sends half
 * a body, costs others a second at most, and one that creates a run from within its auth module does not wait for ever.
 */

// Longer than auth modules and bodies usually take, and short enough for those that wait for a request that hangs.
const defaultPatienceMs = 1000

export class Turns {
  readonly #patienceMs: number
  /** The last turn of each thread that has one which is not over. */
  readonly #last = new Map<string, Turn>()

  constructor({ patienceMs = defaultPatienceMs }: { patienceMs?: number } = {}) {
    this.#patienceMs = patienceMs
  }

  /** How many threads have a turn that is not over. */
  get threads(): number {
    return this.#last.size
  }

  /** The next turn of a thread. Its holder ends it, whatever becomes of the request. */
  take(threadId: string): Turn {
    const turn = new Turn(this.#last.get(threadId)?.over, this.#patienceMs)
    this.#last.set(threadId, turn)
    void turn.over.then(() => {
      if (this.#last.get(threadId) === turn) this.#last.delete(threadId)
    })
    return turn
  }
}

export class Turn {
  /** Resolves when this turn has ended, and all before it that are waited for. */
  readonly over: Promise<void>
  readonly #before: Promise<void> | undefined
  readonly #patienceMs: number
  #end: () => void = () => undefined
  #overtake: () => void = () => undefined

  constructor(before: Promise<void> | undefined, patienceMs: number) {
    this.#patienceMs = patienceMs
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve
    })
    const overtaken = new Promise<void>((resolve) => {
      this.#overtake = resolve
    })
    this.#before = before && Promise.race([before, overtaken])
    this.over = Promise.all([ended, this.#before]).then(() => undefined)
  }

  /** Resolves when it is this one's turn. */
  async come(): Promise<void> {
    if (!this.#before) return
    const timer = setTimeout(this.#overtake, this.#patienceMs)
    await this.#before
    clearTimeout(timer)
  }

  /** The run is in the queue, or will not be. It may be said twice. */
  end(): void {
    this.#end()
  }
}
