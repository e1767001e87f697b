/**
 * Whether this server can start runs. It listens before its graphs are loaded, so that a supervisor can tell a process that
 * starts from one that hangs. Requests that arrive until then wait here, because a JavaScript client takes a 503 to a POST
 * as final (upstream-2026-11 §1.1).
 */
import { NotReady, Unavailable } from "@superstep/toolkit/errors/errors"

// Large TypeScript projects load in a few seconds and Python ones in up to twenty; a proxy gives up after a minute.
const defaultHoldMs = 30_000
// Each held request is an open socket and its headers; more callers than this are refused at once.
const defaultMaxHeld = 1000

export interface ReadinessOptions {
  /** How long a request may wait, in milliseconds. */
  readonly holdMs?: number
  /** How many requests may wait at a time. */
  readonly maxHeld?: number
}

export class Readiness {
  readonly #holdMs: number
  readonly #maxHeld: number
  readonly #held = new Set<() => void>()
  #isReady = false

  constructor({ holdMs = defaultHoldMs, maxHeld = defaultMaxHeld }: ReadinessOptions = {}) {
    this.#holdMs = holdMs
    this.#maxHeld = maxHeld
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /** Number of requests that wait. */
  get held(): number {
    return this.#held.size
  }

  /** From now on requests are answered, those that wait included. */
  markReady(): void {
    this.#isReady = true
    for (const release of this.#held) release()
  }

  /**
   * Resolves when the server is ready.
   * @throws NotReady     the server is still loading after the time that a request may wait, or when the caller has left
   * @throws Unavailable  too many requests wait already
   */
  async untilReady(gone: AbortSignal): Promise<void> {
    if (this.#isReady) return
    if (this.#held.size >= this.#maxHeld) throw new Unavailable("too many requests wait for the graphs to load")
    await new Promise<void>((resolve) => {
      if (gone.aborted) return resolve()
      const release = () => {
        this.#held.delete(release)
        clearTimeout(timer)
        gone.removeEventListener("abort", release)
        resolve()
      }
      const timer = setTimeout(release, this.#holdMs)
      gone.addEventListener("abort", release, { once: true })
      this.#held.add(release)
    })
    if (!this.#isReady) throw new NotReady("the graphs are still being loaded: try again in a moment")
  }
}
