/** Clients that wait for a thread's first events, before the thread exists. */
export class Arrivals {
  readonly #waiting = new Map<string, Set<() => void>>()

  /** Called when a thread may have events. */
  wake(threadId: string): void {
    for (const go of [...(this.#waiting.get(threadId) ?? [])]) go()
  }

  /** Resolves when the thread may have events, after the time, or when the signal is aborted. */
  wait(threadId: string, { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal }): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(threadId) ?? new Set()
      this.#waiting.set(threadId, waiting)
      const go = () => {
        clearTimeout(timer)
        signal.removeEventListener("abort", go)
        waiting.delete(go)
        if (waiting.size === 0) this.#waiting.delete(threadId)
        resolve()
      }
      const timer = setTimeout(go, timeoutMs)
      timer.unref()
      signal.addEventListener("abort", go, { once: true })
      waiting.add(go)
    })
  }
}
