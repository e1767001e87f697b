/** How much may be on its way to the clients of this process's streams: one budget, shared equally. */

// All streams together hold about this much memory when none of their clients reads.
const totalBytes = 128 * 1024 * 1024
// What a client takes in one go, so that it need not wait for the next page of a log.
const mostBytes = 1024 * 1024
// Below this every event of a usual size would be waited for.
const leastBytes = 64 * 1024

export class ReaderBudget {
  #readers = 0

  /** How many bytes may be on their way to one client before it counts as behind. One event may be larger. */
  get aheadBytes(): number {
    return Math.max(leastBytes, Math.min(mostBytes, totalBytes / Math.max(1, this.#readers)))
  }

  /** One reader more. @returns what to call when it has gone; only the first call counts */
  enter(): () => void {
    this.#readers += 1
    let isHere = true
    return () => {
      if (isHere) this.#readers -= 1
      isHere = false
    }
  }
}
