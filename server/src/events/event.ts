/** One item of a run's stream, its id, and its bytes on the wire. Pure. */
import { toJsonText } from "@superstep/toolkit/http/json"

export interface RunEvent {
  /**
   * Rises within a run, over all its attempts: `(attempt - 1) · 10⁹ + n`. So two attempts never use the same id, and a new
   * attempt need not look up what the last one sent.
   */
  readonly seq: number
  /** Name on the wire: `updates`, or `updates|node:task` from a subgraph. */
  readonly event: string
  /** One line of JSON. */
  readonly data: Buffer
}

/** The event with a run's result, for callers that wait only for the result; clients of a stream never get it. */
export const resultEvent = "result"

/** The event with a thread's state after a run, for clients that follow the thread; clients of the run's stream never get it. */
export const stateEvent = "state_update"

/** Identifies an event. */
export interface EventId {
  readonly runId: string
  readonly seq: number
}

/** An event and its place in a topic (topic.ts). */
export interface TopicEvent extends RunEvent, EventId {
  /** Rises within the topic: in a run's topic it is `seq`, in a thread's topic the event's position in the log. */
  readonly place: number
}

/** How far a subscriber has read a topic. */
export interface Position {
  /** The subscriber has every event up to this place. */
  readonly place: number
  readonly last: LastEvents
}

/** An event with its bytes on the wire, which contain its data. */
export interface EncodedEvent extends EventId {
  readonly event: string
  readonly place: number
  readonly bytes: Buffer
  /** Where the data starts in `bytes`. */
  readonly dataStart: number
  readonly dataEnd: number
}

/** An event's data: one line of JSON. */
export const dataOf = ({ bytes, dataStart, dataEnd }: EncodedEvent): Buffer => bytes.subarray(dataStart, dataEnd)

export const eventsPerAttempt = 1_000_000_000

/** The id of an attempt's first event. */
export const firstSeq = (attempt: number): number => (attempt - 1) * eventsPerAttempt

/** The id of an end event that no attempt wrote: above the ids of all attempts. */
export const lastSeq = 999_999 * eventsPerAttempt

/** How many events may come with such an end, itself included: the state, open interrupts, a lifecycle event, an error. */
export const mostOfNoAttempt = 1000

/** What comes with such an end has the ids before it. */
const isOfNoAttempt = (seq: number): boolean => seq > lastSeq - mostOfNoAttempt

/** The attempt of an event. */
export const attemptOf = (seq: number): number => Math.floor(seq / eventsPerAttempt) + 1

/** Whether events are missing between two events of one run, as far as their ids show. */
const isGap = (last: number, seq: number): boolean =>
  !isOfNoAttempt(seq) && seq > Math.max(last + 1, firstSeq(attemptOf(seq)))

/** Which events of a topic's runs a subscriber has: enough to decide whether there is a gap before the next event. */
export class LastEvents {
  /** The last `seq` of each run that is not over. */
  readonly #seqs: Map<string, number>
  /** No event came yet, and the first event may be in the middle of a run. */
  #beginsAnywhere: boolean

  private constructor(seqs: Map<string, number>, beginsAnywhere: boolean) {
    this.#seqs = seqs
    this.#beginsAnywhere = beginsAnywhere
  }

  /** For a subscriber that has every event up to this one. */
  static upTo({ runId, seq }: EventId): LastEvents {
    return new LastEvents(new Map([[runId, seq]]), false)
  }

  /** For a subscriber that starts with the very first event. */
  static none(): LastEvents {
    return new LastEvents(new Map(), false)
  }

  /** For a subscriber that starts with the next event, whichever it is. */
  static unknown(): LastEvents {
    return new LastEvents(new Map(), true)
  }

  copy(): LastEvents {
    return new LastEvents(new Map(this.#seqs), this.#beginsAnywhere)
  }

  /** Records the next event. @returns an event that reports missing events before it; undefined when ids show no gap */
  next(event: TopicEvent): TopicEvent | undefined {
    const gap = this.gapBefore(event)
    const { runId, seq } = event
    this.#beginsAnywhere = false
    if (event.event === "end") this.#seqs.delete(runId)
    else this.#seqs.set(runId, seq)
    return gap
  }

  /** Like `next`, without recording the event. */
  gapBefore(event: EventId & { readonly place: number }): TopicEvent | undefined {
    const { runId, seq } = event
    const last = this.#seqs.get(runId) ?? -1
    const isKnown = last >= 0 || !this.#beginsAnywhere
    return isKnown && isGap(last, seq) ? missedEvent(last, event) : undefined
  }
}

/**
 * Reports to a client that events are missing between two others. It is a `metadata` event, which the official clients
 * pass on unchanged. Its id is the one before the next event, so a client that reconnects gets no event twice.
 * @param last  the last `seq` of the run that the client has; -1 for none
 */
export function missedEvent(last: number, { runId, seq, place }: EventId & { place: number }): TopicEvent {
  const attempt = attemptOf(isOfNoAttempt(seq) ? Math.max(last, 0) : seq)
  const data = Buffer.from(toJsonText({ run_id: runId, attempt, missed: true }))
  return { runId, seq: seq - 1, place, event: "metadata", data }
}

/**
 * Parses `Last-Event-ID`, which requests the events after this id. `-1` means the start, as JS clients send it; `-` means
 * the same, as in the thread stream (agent-server-api §5.14, §7.10).
 * @returns undefined when the header is absent or not one of our ids: then only future events are sent
 */
export function parseLastEventId(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  if (header === "-" || header === "-1") return -1
  return /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

const separator = Buffer.from("\ndata: ")
const heads = new Map<string, Buffer>()

// Names that contain a task id differ for each task, so the cache is emptied before they fill the memory.
const maxHeads = 1000

function headOf(event: string): Buffer {
  let head = heads.get(event)
  if (!head) {
    if (heads.size >= maxHeads) heads.clear()
    head = Buffer.concat([Buffer.from(`event: ${event}`), separator])
    heads.set(event, head)
  }
  return head
}

/**
 * The bytes of an event in `text/event-stream`: `event`, `data`, `id`, an empty line, each ended by LF
 * (agent-server-api §7.2, recordings `single-*.txt`). Stateless runs have ids too, unlike those of the JS server (its part b.2).
 * @param id  the event's id in its topic
 */
export function encodeEvent(event: TopicEvent, id: string): EncodedEvent {
  return encodeLines(event, event.event, id)
}

/** Like `encodeEvent`, with another name on the wire. */
export function encodeLines({ event, data, runId, seq, place }: TopicEvent, name: string, id: string): EncodedEvent {
  const tail = `\nid: ${id}\n\n`
  const head = headOf(name)
  const bytes = Buffer.allocUnsafe(head.length + data.length + tail.length)
  head.copy(bytes, 0)
  data.copy(bytes, head.length)
  const dataEnd = head.length + data.length
  bytes.write(tail, dataEnd, "latin1")
  return { event, runId, seq, place, bytes, dataStart: head.length, dataEnd }
}
