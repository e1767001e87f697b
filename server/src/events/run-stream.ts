/**
 * The live stream of one run inside this process: who listens, and what they get.
 *
 * S1 A subscriber gets every event that is published after it subscribed, in order, once.
 * S2 An event's bytes are built once, however many listen; what is published in one tick goes out in one write.
 * S3 Nothing is kept for those who are not here yet: a late joiner gets what is to come (decisions, agent server 8).
 * S4 After `end` a subscriber gets nothing more.
 */
import { type EncodedEvent, encodeEvent, type RunEvent } from "./event.js"

export interface Subscriber {
  /** Whether it wants events of this name; asked once an event. */
  accepts(event: string): boolean
  /** @param bytes  those of all the events, one after the other */
  write(bytes: Buffer, events: readonly EncodedEvent[]): void
  /**
   * Asked by who sends the past, of which there may be far more than a subscriber may hold.
   * @returns what resolves when it has taken what it was sent; undefined when more may come at once
   */
  drained?(): Promise<void> | undefined
  /** The stream is over. */
  end(): void
}

interface Place {
  /** Events up to this id are not for the subscriber: it has them already. */
  after: number
  /** It still reads the past, from the log: what comes meanwhile will be there for it too. */
  isReading: boolean
  /** What came while it read the last of the past. */
  held: EncodedEvent[] | undefined
}

export class RunStream {
  readonly runId: string
  readonly #places = new Map<Subscriber, Place>()
  #tick: EncodedEvent[] = []

  constructor(runId: string) {
    this.runId = runId
  }

  get isEmpty(): boolean {
    return this.#places.size === 0
  }

  /** Whether a subscriber wants events of this name. */
  wants(event: string): boolean {
    for (const subscriber of this.#places.keys()) if (subscriber.accepts(event)) return true
    return false
  }

  has(subscriber: Subscriber): boolean {
    return this.#places.has(subscriber)
  }

  add(subscriber: Subscriber, after = -1): void {
    this.#place(subscriber, { isReading: false, after })
  }

  /** Adds a subscriber that reads the past from the log first; one that is here reads on there, and nothing is held. */
  readPast(subscriber: Subscriber): void {
    this.#place(subscriber, { isReading: true, after: -1 })
  }

  /** The subscriber has nearly all of the past: what comes from now on is kept for it until `release`. */
  hold(subscriber: Subscriber): void {
    const place = this.#places.get(subscriber)
    if (!place) return
    this.#flush()
    place.held = []
  }

  /** The subscriber has everything up to `after`: it gets the rest of what was held, and from now on all that comes. */
  release(subscriber: Subscriber, after: number): void {
    const place = this.#places.get(subscriber)
    if (!place) return
    this.#flush()
    const held = place.held ?? []
    place.after = after
    place.held = undefined
    place.isReading = false
    deliver(subscriber, place, held)
    // The run ended while the subscriber was reading.
    if (!held.some(({ event, seq }) => event === "end" && seq > after)) return
    this.#places.delete(subscriber)
    subscriber.end()
  }

  remove(subscriber: Subscriber): void {
    this.#places.delete(subscriber)
  }

  publish(event: RunEvent): void {
    if (this.#places.size === 0) return
    if (this.#tick.length === 0) process.nextTick(() => this.#flush())
    this.#tick.push(encodeEvent(event))
  }

  /** Ends all who follow live; those who still read the past find the end in the log. */
  end(): void {
    this.#flush()
    for (const [subscriber, place] of this.#places) {
      if (place.isReading) continue
      this.#places.delete(subscriber)
      subscriber.end()
    }
  }

  #place(subscriber: Subscriber, { isReading, after }: Pick<Place, "isReading" | "after">): void {
    // What waits in this tick was published before: it is not for the newcomer (S3).
    this.#flush()
    this.#places.set(subscriber, { after, isReading, held: undefined })
  }

  #flush(): void {
    const events = this.#tick
    if (events.length === 0) return
    this.#tick = []
    const all = joined(events)
    for (const [subscriber, place] of this.#places) {
      if (place.held) place.held.push(...events)
      else if (place.isReading) continue
      else if (events.every((event) => isFor(subscriber, place, event))) subscriber.write(all, events)
      else deliver(subscriber, place, events)
    }
  }
}

const isFor = (subscriber: Subscriber, { after }: Place, { event, seq }: EncodedEvent): boolean =>
  seq > after && subscriber.accepts(event)

function deliver(subscriber: Subscriber, place: Place, events: readonly EncodedEvent[]): void {
  const wanted = events.filter((event) => isFor(subscriber, place, event))
  if (wanted.length > 0) subscriber.write(joined(wanted), wanted)
}

function joined(events: readonly EncodedEvent[]): Buffer {
  const [only] = events
  return events.length === 1 && only ? only.bytes : Buffer.concat(events.map(({ bytes }) => bytes))
}
