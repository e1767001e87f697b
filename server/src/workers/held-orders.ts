/**
 * Claimed runs without a worker. They wait for one for a limited time: if they were given back at once, they would be claimed
 * again and again until a worker has restarted (P11). Each leaves exactly once.
 */
import type { RunListener, RunOrder } from "./port.js"

interface HeldOrder {
  readonly order: RunOrder
  readonly listener: RunListener
  readonly timer: NodeJS.Timeout
}

export class HeldOrders {
  readonly #limitMs: number
  /** By claim, as for runs in flight. */
  readonly #held = new Map<string, HeldOrder>()

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** The graph of each run that is held. */
  get graphIds(): readonly string[] {
    return [...this.#held.values()].map(({ order }) => order.graphId)
  }

  hold(order: RunOrder, listener: RunListener): void {
    const timer = setTimeout(() => {
      this.#held.delete(order.claimId)
      listener.onLost("no_worker", "no worker is up")
    }, this.#limitMs)
    this.#held.set(order.claimId, { order, listener, timer })
  }

  /** Removes the runs that `place` accepts. */
  retry(place: (order: RunOrder, listener: RunListener) => boolean): void {
    for (const held of [...this.#held.values()]) if (place(held.order, held.listener)) this.#release(held)
  }

  cancel(claimId: string): void {
    const held = this.#held.get(claimId)
    if (!held) return
    this.#release(held)
    held.listener.onDone({ status: "cancelled", error: undefined, next: [], values: undefined, interrupts: "{}" })
  }

  stop(): void {
    for (const held of [...this.#held.values()]) {
      this.#release(held)
      held.listener.onLost("stopped", "the server stops")
    }
  }

  #release({ order, timer }: HeldOrder): void {
    clearTimeout(timer)
    this.#held.delete(order.claimId)
  }
}
