/** The subscriptions of one WebSocket. An event goes out once for each socket, and a new subscription gets its whole past. */
import { dataOf, type EncodedEvent } from "../events/event.js"
import type { Subscriber } from "../events/topic.js"

/** What a subscription needs of its socket. */
export interface EventSocket {
  sendEvent(json: Buffer): void
  drained(): Promise<void> | undefined
  /** The thread was deleted. */
  threadGone(): void
  /** The server stops, or cannot read the log. */
  restart(): void
}

export class SocketSubscription implements Subscriber {
  readonly accepts: (event: string) => boolean
  readonly #socket: EventSocket
  readonly #others: () => Iterable<SocketSubscription>
  /** The place up to which it has got everything that it accepts. */
  through: number
  /** The place up to which the socket had events when it began: those before are its past. */
  readonly #began: number
  readonly #since: number

  /** @param others  the subscriptions of the socket, this one among them or not */
  constructor(
    socket: EventSocket,
    accepts: (event: string) => boolean,
    { since, others }: { readonly since: number; readonly others: () => Iterable<SocketSubscription> },
  ) {
    this.#socket = socket
    this.accepts = accepts
    this.#others = others
    this.#since = since
    this.through = since
    this.#began = Math.max(since, ...[...others()].map(({ through }) => through))
  }

  write(_bytes: Buffer, events: readonly EncodedEvent[]): void {
    for (const event of events) {
      this.through = event.place
      if (!this.#isSent(event)) this.#socket.sendEvent(dataOf(event))
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

  /** Whether another subscription has sent this event since this one began. */
  #isSent({ event, place }: EncodedEvent): boolean {
    if (place <= this.#began) return false
    for (const other of this.#others()) {
      if (other !== this && place <= other.through && place > other.#since && other.accepts(event)) return true
    }
    return false
  }
}
