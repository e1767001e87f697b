/** Work that many ask for at once and that is done for all of them together. */

/**
 * Shares runs of `work`, never two at once. A call waits for a run that begins after it: calls during a run share the next one.
 * @returns  a function whose result is that of the run
 */
export function sharedRuns<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  let next: Promise<T> | undefined
  const begin = (): Promise<T> => {
    next = undefined
    const run = work().finally(() => {
      running = undefined
    })
    running = run
    return run
  }
  return () => {
    if (!running && !next) return begin()
    next ??= Promise.resolve(running).then(begin, begin)
    return next
  }
}
