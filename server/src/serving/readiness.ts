/**
 * Whether this server can start runs. The server listens before its graphs are loaded, so that a supervisor can distinguish
 * a starting process from a hanging one. Requests wait here until then, because JavaScript clients do not retry a POST
 * that got 503 (upstream-2026-11 §1.1).
 */
import { NotReady, Unavailable } from "@superstep/toolkit/errors/errors"

// Large TypeScript projects load in a few seconds and Python ones in up to twenty; proxies time out after a minute.
const defaultHoldMs = 30_000
// Each held request keeps a socket and its headers in memory. Further requests are rejected at once.
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
  readonly #listeners = new Set<() => void>()
  #isReady = false

  constructor({ holdMs = defaultHoldMs, maxHeld = defaultMaxHeld }: ReadinessOptions = {}) {
    this.#holdMs = holdMs
    this.#maxHeld = maxHeld
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /** Number of waiting requests. */
  get held(): number {
    return this.#held.size
  }

  /** Lets all waiting and future requests proceed. */
  markReady(): void {
    this.#isReady = true
    for (const release of this.#held) release()
    for (const listener of this.#listeners) listener()
  }

  /** @returns  a function that ends the calls */
  onReady(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Resolves when the server is ready.
   * @throws NotReady     the graphs are still loading after `holdMs`, or the client has disconnected
   * @throws Unavailable  too many requests are already waiting
   */
  async untilReady(gone: AbortSignal): Promise<void> {
    if (this.#isReady) return
    if (this.#held.size >= this.#maxHeld) throw new Unavailable("too many requests are waiting for the graphs to load")
    await this.waitReady(this.#holdMs, gone)
    if (!this.#isReady) throw new NotReady("the graphs are still loading: try again in a moment")
  }

  /** Resolves when the server is ready, and at the latest after this time or when the client has disconnected. */
  async waitReady(forMs: number, gone: AbortSignal): Promise<void> {
    if (this.#isReady || gone.aborted) return
    await new Promise<void>((resolve) => {
      const release = () => {
        this.#held.delete(release)
        clearTimeout(timer)
        gone.removeEventListener("abort", release)
        resolve()
      }
      const timer = setTimeout(release, forMs)
      gone.addEventListener("abort", release, { once: true })
      this.#held.add(release)
    })
  }
}
