/**
 * A clock whose time passes when nothing else is left to do: a heap of events, of which the next one happens once every statement that is
 * under way has been answered and all code that waits for nothing has run. So the same events give the same run, however quick the
 * computer and its database are.
 */
import { setImmediate } from "node:timers/promises"
import type { Clock } from "../../time/clock.js"

interface Event {
  readonly at: number
  /** Events of the same time happen in the order in which they were added. */
  readonly order: number
  work: (() => void) | undefined
}

export class SimulatedClock implements Clock {
  readonly #heap: Event[] = []
  #now = 0
  #order = 0
  #real = 0
  #onAnswered: () => void = () => undefined
  /** How many events have happened, and how often the database was asked. */
  readonly counts = { events: 0, asked: 0 }

  now(): number {
    return this.#now
  }

  after(ms: number, work: () => void): () => void {
    const event: Event = { at: this.#now + Math.max(0, ms), order: this.#order++, work }
    this.#push(event)
    return () => {
      event.work = undefined
    }
  }

  /** Time stands still until this work has ended: it asks the real database. */
  async real<T>(work: () => Promise<T>): Promise<T> {
    this.#real++
    this.counts.asked++
    try {
      return await work()
    } finally {
      this.#real--
      if (this.#real === 0) this.#onAnswered()
    }
  }

  /** Lets so much time pass. @param onStep  called after each event has been worked off */
  async pass(ms: number, onStep: () => void = () => undefined): Promise<void> {
    const end = this.#now + ms
    await this.#settle()
    for (let next = this.#heap[0]; next && next.at <= end; next = this.#heap[0]) {
      this.#pop()
      if (!next.work) continue
      this.#now = next.at
      this.counts.events++
      next.work()
      await this.#settle()
      onStep()
    }
    this.#now = end
  }

  async #settle(): Promise<void> {
    for (;;) {
      await setImmediate()
      if (this.#real === 0) return
      await new Promise<void>((resolve) => {
        this.#onAnswered = resolve
      })
    }
  }

  #push(event: Event): void {
    const heap = this.#heap
    let index = heap.push(event) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(event, heap[parent] as Event)) break
      heap[index] = heap[parent] as Event
      index = parent
    }
    heap[index] = event
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (!last || heap.length === 0) return
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      const right = child + 1
      if (right < heap.length && isBefore(heap[right] as Event, heap[child] as Event)) child = right
      if (!isBefore(heap[child] as Event, last)) break
      heap[index] = heap[child] as Event
      index = child
    }
    heap[index] = last
  }
}

const isBefore = (one: Event, other: Event): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)
