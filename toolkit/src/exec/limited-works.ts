/** Works of which only some go on at once. */
import { Fifo } from "../collections/fifo.js"

/**
 * @param most  how many works go on at once; the others wait in the order of the calls
 * @returns     a function that does a work when it is its turn, and returns its result. How many wait is the caller's limit
 */
export function limitedWorks(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting = new Fifo<() => void>()
  let running = 0
  return async (work) => {
    // One that ends gives its place to the next one.
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
