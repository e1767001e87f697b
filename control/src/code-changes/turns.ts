/**
 * Whose comparison is made now. Two are made at a time, never two of one workspace, in the order in which they were asked for: a git host that
 * does not answer holds the place of its own workspace, and not that of all others. One that is given up while it waits leaves at once.
 */
import { TooManyRequests } from "@superstep/toolkit/errors/errors"

// Each may need 512 MB of disk.
const mostAtOnce = 2
// Of all, with those that are made: what waits behind more is better asked again.
const mostAsked = 8
const mostOfAWorkspace = 2
export const retryMs = 10_000

interface Asked {
  readonly workspaceId: string
  readonly begin: () => void
}

export class Turns {
  readonly #waiting: Asked[] = []
  /** Workspaces. */
  readonly #busy = new Set<string>()

  /**
   * Does the work when it is its turn.
   * @throws TooManyRequests           too many wait, of the workspace or of all
   * @throws the reason of the signal  it was aborted while this waited; work that has begun must look at it itself
   */
  async take<T>(workspaceId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#turn(workspaceId, signal)
    try {
      return await work()
    } finally {
      this.#busy.delete(workspaceId)
      this.#beginNext()
    }
  }

  async #turn(workspaceId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const waitOfWorkspace = this.#waiting.filter((asked) => asked.workspaceId === workspaceId).length
    const ofWorkspace = waitOfWorkspace + (this.#busy.has(workspaceId) ? 1 : 0)
    if (this.#waiting.length + this.#busy.size >= mostAsked || ofWorkspace >= mostOfAWorkspace)
      throw new TooManyRequests("too many comparisons of code are in progress: retry in a moment", retryMs)
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(asked), 1)
        reject(signal.reason)
      }
      const begin = () => {
        signal.removeEventListener("abort", leave)
        resolve()
      }
      const asked: Asked = { workspaceId, begin }
      signal.addEventListener("abort", leave, { once: true })
      this.#waiting.push(asked)
      this.#beginNext()
    })
  }

  #beginNext(): void {
    while (this.#busy.size < mostAtOnce) {
      const at = this.#waiting.findIndex(({ workspaceId }) => !this.#busy.has(workspaceId))
      const [next] = at < 0 ? [] : this.#waiting.splice(at, 1)
      if (!next) return
      this.#busy.add(next.workspaceId)
      next.begin()
    }
  }
}
