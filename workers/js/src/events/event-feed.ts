/**
 * Reads a run's stream and knows whether everything produced so far has been written. LangGraph passes a checkpoint to the saver
 * while earlier events may still be in pending promises. A checkpoint must not overtake them (W2), so the saver waits here.
 */
import { setImmediate as turn } from "node:timers/promises"
import { withAbortGrace } from "./abort-grace.js"

export class EventFeed {
  /** True while the reader has no chunk: it waits for the next one, or the stream has ended. */
  #isParked = true
  #waiting: (() => void)[] = []

  /**
   * Calls `onChunk` for each chunk in order, and waits for its promise, until the stream ends or the signal aborts. After an
   * abort the graph gets a second to save its state.
   * @throws  the stream's error, or the signal's reason if that comes first
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
      if (signal.aborted) await withAbortGrace(ended(iterator), signal).catch(() => undefined)
    }
  }

  /** Resolves when the reader has written every event that was produced before this call. */
  async written(): Promise<void> {
    for (;;) {
      // Chunks pass only through promise jobs, so after one turn of the event loop they have all arrived.
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
    // The graph was aborted, so its error has no use.
  }
}

/**
 * The iterator's `next`, which rejects with the signal's reason as soon as it aborts. It uses one promise for each chunk: a race
 * with a promise of the abort would add a reaction to that promise for every token of the run.
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
