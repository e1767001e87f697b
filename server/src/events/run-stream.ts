/**
 * The live stream of one run inside this process: who listens, and what they get.
 *
 * S1 A subscriber gets every event that is published after it subscribed, in order, once.
 * S2 An event's bytes are built once, however many listen; what is published in one tick goes out in one write.
 * S3 Nothing is kept for those who are not here yet: a late joiner gets what is to come (decisions, agent server 8).
 * S4 After `end` a subscriber gets nothing more.
 * S5 A subscriber that misses events is told so before the next one: by `metadata` with `missed: true`.
 * S6 A subscriber that falls behind is named by `slow` until it has read what it was given. It stays in the stream, or
 *    reads on from the log (`readPast`), where it holds no memory here.
 */
import { type EncodedEvent, encodeEvent, isGap, missedEvent, type RunEvent } from "./event.js"

export interface Subscriber {
  /** Whether it wants events of this name; asked once an event. */
  accepts(event: string): boolean
  /** @param bytes  those of all the events, one after the other */
  write(bytes: Buffer, events: readonly EncodedEvent[]): void
  /** @returns what resolves when it has read what it was given; undefined when more may come at once */
  drained?(): Promise<void> | undefined
  /** The stream is over. */
  end(): void
  /** The rest cannot be given: the client is to come back. Without it `end` is called. */
  break?(reason: Error): void
}

interface Place {
  /** Events up to this id are not for the subscriber: it has them already. */
  after: number
  /** The id of the last event that its client had before it came back, until it gets the first one here. */
  lastSeen: number | undefined
  /** It reads the past, from the log: what comes meanwhile will be there for it too. */
  isReading: boolean
  /** What came while it read the last of the past. */
  held: EncodedEvent[] | undefined
}

export interface JoinedAt {
  /** Events up to this id are not for the subscriber. */
  readonly after?: number
  /** The last event that its client has, when it comes back: it is told when there were others since (S5). */
  readonly lastSeen?: number | undefined
}

export class RunStream {
  readonly runId: string
  readonly #onSlow: () => void
  readonly #places = new Map<Subscriber, Place>()
  readonly #slow = new Map<Subscriber, Promise<void>>()
  #tick: EncodedEvent[] = []
  /** The id of the last event that was published. */
  #last: number | undefined
  #isOver = false
  #end: EncodedEvent | undefined

  /** @param onSlow  called after a write when a subscriber is behind (S6) */
  constructor(runId: string, onSlow: () => void = () => undefined) {
    this.runId = runId
    this.#onSlow = onSlow
  }

  get isEmpty(): boolean {
    return this.#places.size === 0
  }

  /** Subscribers that are behind, with what resolves when they are not. */
  get slow(): ReadonlyMap<Subscriber, Promise<void>> {
    return this.#slow
  }

  /** Whether a subscriber reads from the log: it has to have what comes. */
  get isReadFromLog(): boolean {
    for (const { isReading } of this.#places.values()) if (isReading) return true
    return false
  }

  /** Whether a subscriber wants events of this name. */
  wants(event: string): boolean {
    for (const subscriber of this.#places.keys()) if (subscriber.accepts(event)) return true
    return false
  }

  has(subscriber: Subscriber): boolean {
    return this.#places.has(subscriber)
  }

  add(subscriber: Subscriber, { after = -1, lastSeen }: JoinedAt = {}): void {
    this.#place(subscriber, { isReading: false, after, lastSeen })
  }

  /**
   * From now on the subscriber reads from the log; one that is not here is added.
   * @returns the id after which it has to read, when it has followed until now
   */
  readPast(subscriber: Subscriber): number {
    const after = this.#places.get(subscriber)?.after ?? -1
    this.#place(subscriber, { isReading: true, after: -1, lastSeen: undefined })
    this.#slow.delete(subscriber)
    return Math.max(after, this.#last ?? -1)
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
    const end = held.find(({ event }) => event === "end") ?? this.#end
    const rest = end === undefined || held.includes(end) ? [...held] : [...held, end]
    const next = rest.find(({ seq }) => seq > after)
    // The log was forgotten while the subscriber was reading it.
    if (next && isGap(after, next.seq)) rest.unshift(encodeEvent(missedEvent(this.runId, after, next.seq)))
    this.#deliver(subscriber, place, rest)
    // The run ended while the subscriber was reading.
    if (end === undefined || end.seq <= after) return
    this.remove(subscriber)
    subscriber.end()
  }

  remove(subscriber: Subscriber): void {
    this.#places.delete(subscriber)
    this.#slow.delete(subscriber)
  }

  /** An event that was published before is left out: it may come from the run and from its log. */
  publish(event: RunEvent): void {
    const last = this.isEmpty ? undefined : this.#last
    if (last !== undefined && event.seq <= last) return
    this.#last = event.seq
    if (this.isEmpty) return
    if (last !== undefined && isGap(last, event.seq)) this.#push(missedEvent(this.runId, last, event.seq))
    this.#push(event)
  }

  /** Publishes an event that is not one of the run's: its id means nothing. */
  tell(event: RunEvent): void {
    if (!this.isEmpty) this.#push(event)
  }

  /** Gives one subscriber the end of a run that is over. @param lastSeen  the last event that it has, if it came back */
  endOne(subscriber: Subscriber, end: RunEvent, lastSeen?: number): void {
    const place = this.#places.get(subscriber)
    if (!place) return
    this.#flush()
    place.lastSeen ??= lastSeen
    this.#deliver(subscriber, place, [encodeEvent(end)])
    this.remove(subscriber)
    subscriber.end()
  }

  /** Ends all who follow live; those who still read the past find the end in the log. */
  end(): void {
    this.#isOver = true
    this.#flush()
    for (const [subscriber, place] of this.#places) {
      if (place.isReading) continue
      this.remove(subscriber)
      subscriber.end()
    }
  }

  /** Nothing more can be given to anybody here, and the run goes on: clients are to come back. */
  break(reason: Error): void {
    this.#flush()
    for (const subscriber of [...this.#places.keys()]) {
      this.remove(subscriber)
      if (subscriber.break) subscriber.break(reason)
      else subscriber.end()
    }
  }

  #place(subscriber: Subscriber, place: Omit<Place, "held">): void {
    // What waits in this tick was published before: it is not for the newcomer (S3).
    this.#flush()
    this.#places.set(subscriber, { ...place, held: undefined })
  }

  #push(event: RunEvent): void {
    if (this.#tick.length === 0) process.nextTick(() => this.#flush())
    const encoded = encodeEvent(event)
    if (event.event === "end") this.#end = encoded
    this.#tick.push(encoded)
  }

  #flush(): void {
    const events = this.#tick
    if (events.length === 0) return
    this.#tick = []
    const all = joined(events)
    for (const [subscriber, place] of this.#places) {
      if (place.held) place.held.push(...events)
      else if (!place.isReading) {
        const isForAll = place.lastSeen === undefined && events.every((event) => isFor(subscriber, place, event))
        if (isForAll) subscriber.write(all, events)
        else this.#deliver(subscriber, place, events)
        this.#noteSlow(subscriber)
      }
    }
    if (this.#slow.size > 0 && !this.#isOver) this.#onSlow()
  }

  #noteSlow(subscriber: Subscriber): void {
    const drained = subscriber.drained?.()
    if (drained === undefined || this.#slow.has(subscriber)) return
    this.#slow.set(subscriber, drained)
    void drained.then(() => {
      if (this.#slow.get(subscriber) === drained) this.#slow.delete(subscriber)
    })
  }

  #deliver(subscriber: Subscriber, place: Place, events: readonly EncodedEvent[]): void {
    const { lastSeen } = place
    const [first] = events
    if (first === undefined) return
    place.lastSeen = undefined
    // Of the attempts in between nothing is known here, so only the very next event says that there was none.
    const hasMissed = lastSeen !== undefined && first.seq > lastSeen + 1
    const missed = hasMissed ? [encodeEvent(missedEvent(this.runId, lastSeen, first.seq))] : []
    const wanted = [...missed, ...events].filter((event) => isFor(subscriber, place, event))
    if (wanted.length > 0) subscriber.write(joined(wanted), wanted)
  }
}

const isFor = (subscriber: Subscriber, { after }: Place, { event, seq }: EncodedEvent): boolean =>
  seq > after && subscriber.accepts(event)

function joined(events: readonly EncodedEvent[]): Buffer {
  const [only] = events
  return events.length === 1 && only ? only.bytes : Buffer.concat(events.map(({ bytes }) => bytes))
}
