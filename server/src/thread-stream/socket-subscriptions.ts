/**
 * The subscriptions of one WebSocket. They read the thread together, so that events of all of them come in the order of the thread, once: a
 * client that sees the end of a run in one subscription stops reading the others. A later subscription gets its past separately.
 */
import { dataOf, type EncodedEvent } from "../events/event.js"
import { isProtocolEvent } from "../events/protocol-event.js"
import type { Subscriber } from "../events/topic.js"

/** What subscriptions need of their socket. */
export interface EventSocket {
  sendEvent(json: Buffer): void
  drained(): Promise<void> | undefined
  /** The thread was deleted. */
  threadGone(): void
  /** The server stops, or cannot read the log. */
  restart(): void
}

export interface Subscription {
  /** @param event  a name */
  readonly accepts: (event: string) => boolean
  /** Only events after this place; -1 for all. */
  readonly since: number
}

export type Subscriptions = ReadonlyMap<string, Subscription>

abstract class Reader implements Subscriber {
  readonly #socket: EventSocket

  constructor(socket: EventSocket) {
    this.#socket = socket
  }

  abstract read(event: EncodedEvent): void

  /** All, so that a reader knows its place in the thread. */
  accepts(event: string): boolean {
    return isProtocolEvent(event)
  }

  write(_bytes: Buffer, events: readonly EncodedEvent[]): void {
    for (const event of events) this.read(event)
  }

  drained(): Promise<void> | undefined {
    return this.#socket.drained()
  }

  end(): void {
    this.#socket.threadGone()
  }

  break(): void {
    this.#socket.restart()
  }

  protected sendTo(subscriptions: Iterable<Subscription>, event: EncodedEvent): void {
    for (const { accepts, since } of subscriptions) {
      if (event.place <= since || !accepts(event.event)) continue
      this.#socket.sendEvent(dataOf(event))
      return
    }
  }
}

/** All subscriptions of a socket: what comes after each has begun. */
export class LiveSubscriptions extends Reader {
  readonly #all: Map<string, Subscription>
  /** The place up to which the thread was read. */
  #through: number

  constructor(socket: EventSocket, first: Subscriptions) {
    super(socket)
    this.#all = new Map(first)
    this.#through = earliest(first)
  }

  get through(): number {
    return this.#through
  }

  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  has(id: string): boolean {
    return this.#all.has(id)
  }

  /** Adds later subscriptions, without their past. */
  add(later: Subscriptions): void {
    for (const [id, subscription] of later)
      this.#all.set(id, { ...subscription, since: Math.max(subscription.since, this.#through) })
  }

  remove(id: string): void {
    this.#all.delete(id)
  }

  read(event: EncodedEvent): void {
    this.#through = event.place
    this.sendTo(this.#all.values(), event)
  }
}

/** What later subscriptions missed. */
export class PastOfSubscriptions extends Reader {
  readonly #subscriptions: Subscriptions
  readonly #live: LiveSubscriptions
  readonly #last: number
  readonly #onEnd: () => void
  #isOver = false

  /** @param onEnd  called when everything was sent that came before `live` had the subscriptions; never during a write */
  constructor(socket: EventSocket, subscriptions: Subscriptions, live: LiveSubscriptions, onEnd: () => void) {
    super(socket)
    this.#subscriptions = subscriptions
    this.#live = live
    this.#last = live.through
    this.#onEnd = onEnd
  }

  read(event: EncodedEvent): void {
    if (this.#isOver) return
    const open = [...this.#subscriptions].filter(([id]) => this.#live.has(id)).map(([, subscription]) => subscription)
    if (event.place <= this.#last) this.sendTo(open, event)
    if (event.place < this.#last) return
    this.#isOver = true
    setImmediate(this.#onEnd)
  }
}

/** The place after which they need events. Pure. */
export const earliest = (subscriptions: Subscriptions): number =>
  Math.min(...[...subscriptions.values()].map(({ since }) => since))
