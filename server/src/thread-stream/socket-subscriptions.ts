/**
 * The subscriptions of one WebSocket. One reader of the thread serves them all, so that events of all of them come in the order of the thread,
 * once: a client that sees the end of a run in one subscription stops reading the others. When one is added, another reader takes over that begins
 * where the new one does, and sends the former ones only what they have not got yet.
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

/** Reads a thread for all subscriptions of a socket. */
export class SubscriptionReader implements Subscriber {
  readonly #socket: EventSocket
  readonly #all: Map<string, Subscription>
  /** The place up to which the thread was read. */
  #through: number

  constructor(socket: EventSocket, subscriptions: Subscriptions) {
    this.#socket = socket
    this.#all = new Map(subscriptions)
    this.#through = earliest(subscriptions)
  }

  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  has(id: string): boolean {
    return this.#all.has(id)
  }

  remove(id: string): void {
    this.#all.delete(id)
  }

  /** Ends this reader, which sends nothing any more. @returns  its subscriptions, without the events that they have */
  release(): Subscriptions {
    const released = new Map<string, Subscription>()
    for (const [id, subscription] of this.#all)
      released.set(id, { ...subscription, since: Math.max(subscription.since, this.#through) })
    this.#all.clear()
    return released
  }

  /** All, so that a reader knows its place in the thread. */
  accepts(event: string): boolean {
    return isProtocolEvent(event)
  }

  write(_bytes: Buffer, events: readonly EncodedEvent[]): void {
    for (const event of events) this.#read(event)
  }

  #read(event: EncodedEvent): void {
    this.#through = event.place
    for (const { accepts, since } of this.#all.values()) {
      if (event.place <= since || !accepts(event.event)) continue
      this.#socket.sendEvent(dataOf(event))
      return
    }
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
}

/** The place after which they need events. Pure. */
export const earliest = (subscriptions: Subscriptions): number =>
  Math.min(...[...subscriptions.values()].map(({ since }) => since))
