/** Bounds how many works run at a time. Pure, apart from the waiting. */

/** @returns  a function that starts a work at once if fewer than `most` run, else when it is its turn */
export function limited(most: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      // The place goes to the next one, or is free.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
