/**
 * A topic is a run or a thread. It delivers its events to all subscribers in this process.
 *
 * S1 A subscriber gets every event that is published after it subscribed, in order, once.
 * S2 An event is encoded once for all subscribers. All events published in one tick are sent in one write.
 * S3 A topic keeps no past events: a new subscriber gets only events published after it joined (decisions, agent server 8).
 * S4 After `end` a subscriber gets nothing more.
 * S5 A subscriber that misses events gets a `metadata` event with `missed: true` before the next event.
 * S6 `slow` contains a subscriber that falls behind until it has read what was written to it. The subscriber stays in the
 *    topic, or continues from the log (`readPast`), where it holds no memory here.
 */
import { type EncodedEvent, encodeEvent, LastEvents, missedEvent, type Position, type TopicEvent } from "./event.js"
import { encodeProtocolEvent } from "./protocol-event.js"

export interface Subscriber {
  /** Whether it wants events of this name; called once for each event. */
  accepts(event: string): boolean
  /** @param bytes  the bytes of all the events, one after the other */
  write(bytes: Buffer, events: readonly EncodedEvent[]): void
  /** @returns a promise that resolves when it has read what was written; undefined when it can take more at once */
  drained?(): Promise<void> | undefined
  /** Called when the topic is over. */
  end(): void
  /** Called when the rest cannot be sent and the client should reconnect. A subscriber without it gets `end`. */
  break?(reason: Error): void
}

/** What one subscriber has and waits for. */
interface SubscriberState {
  /** Events up to this place are not for the subscriber: it has them already. */
  after: number
  /** The `seq` of the last event that its client had before it rejoined a run; cleared when it gets its first event here. */
  lastSeen: number | undefined
  /** It reads past events from the log, and will find there what is published meanwhile. */
  isReading: boolean
  /** Events published while it reads the last past events. */
  held: EncodedEvent[] | undefined
}

export interface JoinedAt {
  /** The `seq` of the last event of the run that a rejoining client has: the client is notified when it missed some (S5). */
  readonly lastSeen?: number | undefined
}

/** The differences between a run's topic and a thread's topic. */
export interface TopicKind {
  /** The bytes of an event, with the id that clients send when they reconnect. */
  encode(event: TopicEvent): EncodedEvent
  /** Whether an event of this name is the topic's last. A topic without a last event ends without one: when its thread is deleted. */
  readonly isLast?: (event: string) => boolean
}

export const runKind: TopicKind = {
  encode: (event) => encodeEvent(event, String(event.seq)),
  isLast: (event) => event === "end",
}

/** A thread may always get another run, so its topic ends only when the thread is deleted. */
export const threadKind: TopicKind = { encode: (event) => encodeEvent(event, `${event.runId}:${event.seq}`) }

/** A thread, for clients of the newer streaming protocol. */
export const protocolKind: TopicKind = { encode: encodeProtocolEvent }

export class Topic {
  readonly kind: TopicKind
  readonly #onSlow: () => void
  readonly #states = new Map<Subscriber, SubscriberState>()
  readonly #slow = new Map<Subscriber, Promise<void>>()
  #tick: EncodedEvent[] = []
  /** The place of the last published event. */
  #place: number | undefined
  #last = LastEvents.unknown()
  #isOver = false
  #end: EncodedEvent | undefined

  /** @param onSlow  called after a write when a subscriber is behind (S6) */
  constructor(kind: TopicKind, onSlow: () => void = () => undefined) {
    this.kind = kind
    this.#onSlow = onSlow
  }

  get isEmpty(): boolean {
    return this.#states.size === 0
  }

  /** Subscribers that are behind, each with a promise that resolves when it no longer is. */
  get slow(): ReadonlyMap<Subscriber, Promise<void>> {
    return this.#slow
  }

  /** Subscribers that are behind, after all published events are delivered. */
  behind(): Subscriber[] {
    this.flush()
    return [...this.#slow.keys()]
  }

  /** Whether a subscriber reads from the log; then new events must be logged. */
  get isReadFromLog(): boolean {
    for (const { isReading } of this.#states.values()) if (isReading) return true
    return false
  }

  /**
   * Subscribers that get new events of the log. Not among them: a subscriber that reads past events, and one that rejoined a run without
   * a log and has not yet been notified of what it missed (S5).
   */
  subscribersUpToDate(): Subscriber[] {
    this.flush()
    return [...this.#states].flatMap(([subscriber, { isReading, lastSeen }]) =>
      isReading || lastSeen !== undefined ? [] : [subscriber],
    )
  }

  /** Whether a subscriber wants events of this name. */
  wants(event: string): boolean {
    for (const subscriber of this.#states.keys()) if (subscriber.accepts(event)) return true
    return false
  }

  has(subscriber: Subscriber): boolean {
    return this.#states.has(subscriber)
  }

  add(subscriber: Subscriber, { lastSeen }: JoinedAt = {}): void {
    this.#setState(subscriber, { isReading: false, after: -1, lastSeen })
  }

  /**
   * From now on the subscriber reads from the log; it is added if it is not in the topic.
   * @returns the position from which a subscriber that was up to date until now continues
   */
  readPast(subscriber: Subscriber): Position {
    const after = this.#states.get(subscriber)?.after ?? -1
    this.#setState(subscriber, { isReading: true, after: -1, lastSeen: undefined })
    this.#slow.delete(subscriber)
    return { place: Math.max(after, this.#place ?? -1), last: this.#last.copy() }
  }

  /** Called when the subscriber has read nearly all past events: new events are held for it until `release`. */
  hold(subscriber: Subscriber): void {
    const state = this.#states.get(subscriber)
    if (!state) return
    this.flush()
    state.held = []
  }

  /** Called when the subscriber has every event up to a position: it gets the held events after that, then live events. */
  release(subscriber: Subscriber, position: Position): void {
    const state = this.#states.get(subscriber)
    if (!state) return
    this.flush()
    const held = state.held ?? []
    state.after = position.place
    state.held = undefined
    state.isReading = false
    const end = this.#end
    const rest = end === undefined || held.includes(end) ? [...held] : [...held, end]
    const next = rest.find((event) => event.place > position.place)
    // The log may have been deleted while the subscriber was reading it.
    const gap = next && position.last.gapBefore(next)
    if (gap) rest.unshift(this.#encode(gap))
    this.#deliver(subscriber, state, rest)
    // The topic ended while the subscriber was reading.
    if (end === undefined || end.place <= position.place) return
    this.remove(subscriber)
    subscriber.end()
  }

  remove(subscriber: Subscriber): void {
    this.#states.delete(subscriber)
    this.#slow.delete(subscriber)
  }

  /** Ignores an event that was already published: it may come both from a run and from its log. */
  publish(event: TopicEvent): void {
    // A topic without subscribers is about to be removed.
    if (this.isEmpty || (this.#place !== undefined && event.place <= this.#place)) return
    this.#place = event.place
    const gap = this.#last.next(event)
    if (gap) this.#push(gap)
    this.#push(event)
  }

  /** Publishes an event outside the topic's order: its id means nothing. */
  publishUnordered(event: TopicEvent): void {
    if (!this.isEmpty) this.#push(event)
  }

  /** Sends one subscriber the end of a topic that is over. @param lastSeen  as in `add` */
  endOne(subscriber: Subscriber, end: TopicEvent, lastSeen?: number): void {
    const state = this.#states.get(subscriber)
    if (!state) return
    this.flush()
    state.lastSeen ??= lastSeen
    this.#deliver(subscriber, state, [this.#encode(end)])
    this.remove(subscriber)
    subscriber.end()
  }

  /** Ends all live subscribers. Those that still read past events find the last one in the log, where there is one. */
  end(): void {
    this.#isOver = true
    this.flush()
    for (const [subscriber, state] of this.#states) {
      if (state.isReading && this.kind.isLast) continue
      this.remove(subscriber)
      subscriber.end()
    }
  }

  /** Called when this server can deliver no more events although the topic goes on: clients should reconnect. */
  break(reason: Error): void {
    this.flush()
    for (const subscriber of [...this.#states.keys()]) {
      this.remove(subscriber)
      if (subscriber.break) subscriber.break(reason)
      else subscriber.end()
    }
  }

  /** Sends one event of the log to a subscriber that reads it. */
  send(subscriber: Subscriber, event: TopicEvent): void {
    if (!subscriber.accepts(event.event)) return
    const encoded = this.#encode(event)
    subscriber.write(encoded.bytes, [encoded])
  }

  #encode(event: TopicEvent): EncodedEvent {
    return this.kind.encode(event)
  }

  #setState(subscriber: Subscriber, state: Omit<SubscriberState, "held">): void {
    // Events waiting in this tick were published before the subscriber joined, so it must not get them (S3).
    this.flush()
    this.#states.set(subscriber, { ...state, held: undefined })
  }

  #push(event: TopicEvent): void {
    if (this.#tick.length === 0) process.nextTick(() => this.flush())
    const encoded = this.#encode(event)
    if (this.kind.isLast?.(event.event)) this.#end = encoded
    this.#tick.push(encoded)
  }

  /** Delivers what was published in this tick now. A server that starts a run writes its first events before it starts its worker. */
  flush(): void {
    const events = this.#tick
    if (events.length === 0) return
    this.#tick = []
    const all = joined(events)
    for (const [subscriber, state] of this.#states) {
      if (state.held) state.held.push(...events)
      else if (!state.isReading) {
        const isForAll = state.lastSeen === undefined && events.every((event) => isFor(subscriber, state, event))
        if (isForAll) subscriber.write(all, events)
        else this.#deliver(subscriber, state, events)
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

  #deliver(subscriber: Subscriber, state: SubscriberState, events: readonly EncodedEvent[]): void {
    const { lastSeen } = state
    const [first] = events
    if (first === undefined) return
    state.lastSeen = undefined
    // Nothing is known here about attempts in between, so only the very next `seq` proves that no event is missing.
    const hasMissed = lastSeen !== undefined && first.seq > lastSeen + 1
    const missed = hasMissed ? [this.#encode(missedEvent(lastSeen, first))] : []
    const wanted = [...missed, ...events].filter((event) => isFor(subscriber, state, event))
    if (wanted.length > 0) subscriber.write(joined(wanted), wanted)
  }
}

const isFor = (subscriber: Subscriber, { after }: SubscriberState, { event, place }: EncodedEvent): boolean =>
  place > after && subscriber.accepts(event)

function joined(events: readonly EncodedEvent[]): Buffer {
  const [only] = events
  return events.length === 1 && only ? only.bytes : Buffer.concat(events.map(({ bytes }) => bytes))
}
