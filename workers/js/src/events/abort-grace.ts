/** How long an aborted run waits for code of the project. */

/** Code that was aborted usually ends at once. What ignores the signal gets this long, in milliseconds. */
const abortGraceMs = 1_000

/**
 * Waits for code of the project, after an abort at most for `abortGraceMs`. Later results and errors of the code are ignored.
 * @throws  the code's error, or the signal's reason when the code does not end
 */
export async function withAbortGrace<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let onAbort = () => {}
  const abandoned = new Promise<never>((_, reject) => {
    onAbort = () => {
      timer = setTimeout(() => reject(signal.reason), abortGraceMs)
    }
  })
  signal.addEventListener("abort", onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([work, abandoned])
  } finally {
    signal.removeEventListener("abort", onAbort)
    clearTimeout(timer)
  }
}
