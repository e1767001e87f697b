/**
 * Reads a run's stream and knows whether everything produced so far has been written. LangGraph hands a checkpoint to
 * the saver while the events before it may still be on their way through promises; a checkpoint must not overtake
 * them (W2), so the saver waits here.
 */
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises"

/** An aborted graph ends almost at once, but a tool that ignores the signal may not; nobody waits longer for it. */
const abortGraceMs = 1_000

export class EventFeed {
  /** The reader holds nothing: it waits for the next chunk, or the stream has ended. */
  #isParked = true
  #waiting: (() => void)[] = []

  /**
   * Calls `onChunk` for each chunk in order, waiting for what it returns, until the stream ends or the signal aborts.
   * After an abort the graph gets a moment to save what it has.
   * @throws  what the stream throws; the signal's reason when that comes first
   */
  async read(
    stream: AsyncIterable<unknown>,
    signal: AbortSignal,
    onChunk: (chunk: unknown) => Promise<void> | undefined,
  ): Promise<void> {
    const iterator = stream[Symbol.asyncIterator]()
    const { next: nextOf, forget } = abortable(iterator, signal)
    try {
      for (;;) {
        this.#park()
        const next = await nextOf()
        this.#isParked = false
        if (next.done === true) return
        await onChunk(next.value)
      }
    } finally {
      forget()
      this.#park()
      if (signal.aborted) await Promise.race([ended(iterator), sleep(abortGraceMs, undefined, { ref: false })])
    }
  }

  /** Resolves when the reader has written every event that was produced before this call. */
  async written(): Promise<void> {
    for (;;) {
      // Chunks travel through promise jobs only, so after one turn of the event loop they have all arrived.
      await turn()
      if (this.#isParked) return
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  #park(): void {
    this.#isParked = true
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}

async function ended(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.()
  } catch {
    // It was told to stop; how it complains about that is of no use to anybody.
  }
}

/**
 * The iterator's `next`, which rejects with the signal's reason as soon as it aborts. One promise a chunk: a race with a
 * promise of the abort would add a reaction to that one for every token of the run.
 */
function abortable(iterator: AsyncIterator<unknown>, signal: AbortSignal) {
  let fail: (reason: unknown) => void = () => {}
  const onAbort = () => fail(signal.reason)
  signal.addEventListener("abort", onAbort, { once: true })
  const next = () =>
    new Promise<IteratorResult<unknown>>((resolve, reject) => {
      fail = reject
      if (signal.aborted) reject(signal.reason)
      else iterator.next().then(resolve, reject)
    })
  return { next, forget: () => signal.removeEventListener("abort", onAbort) }
}
