/** How many bytes may wait for the clients of this process's streams: one budget, shared equally. */

// All streams together hold about this much memory when none of their clients reads.
const totalBytes = 128 * 1024 * 1024
// As much as a page of the log, so that a client need not wait in the middle of a page.
const maxBytes = 1024 * 1024
// With less, the server would wait for the client after every event of a usual size.
const minBytes = 64 * 1024

export class ReaderBudget {
  #readers = 0

  /** How many clients read events now, whatever they follow: also those whose thread does not exist yet. */
  get readers(): number {
    return this.#readers
  }

  /** How many bytes may wait for one client before it counts as behind. A single event may be larger. */
  get aheadBytes(): number {
    return Math.max(minBytes, Math.min(maxBytes, totalBytes / Math.max(1, this.#readers)))
  }

  /** Adds a reader. @returns a function that removes it; only the first call counts */
  enter(): () => void {
    this.#readers += 1
    let isHere = true
    return () => {
      if (isHere) this.#readers -= 1
      isHere = false
    }
  }
}
