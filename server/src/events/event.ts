/** One item of a run's stream, its id, and its bytes on the wire. Pure. */

export interface RunEvent {
  /**
   * Rises within a run, over all its attempts: `(attempt - 1) · 10⁹ + n`. So ids of two attempts never meet, and a new
   * attempt needs no look at what the last one sent.
   */
  readonly seq: number
  /** Name on the wire: `updates`, or `updates|node:task` from a subgraph. */
  readonly event: string
  /** One line of JSON. */
  readonly data: Buffer
}

/** The event that says how a run ended, for those who wait for that alone; no client of a stream gets it. */
export const resultEvent = "result"

/** The event that tells a thread's state after a run, for who follows the thread; no client of the run's stream gets it. */
export const stateEvent = "state_update"

/** An event with its bytes on the wire, which hold its data. */
export interface EncodedEvent {
  readonly event: string
  readonly seq: number
  readonly bytes: Buffer
  /** Where `bytes` has the data. */
  readonly dataStart: number
  readonly dataEnd: number
}

/** An event's data: one line of JSON. */
export const dataOf = ({ bytes, dataStart, dataEnd }: EncodedEvent): Buffer => bytes.subarray(dataStart, dataEnd)

export const eventsPerAttempt = 1_000_000_000

/** The id of an attempt's first event. */
export const firstSeq = (attempt: number): number => (attempt - 1) * eventsPerAttempt

/** The id of an end that no attempt wrote: after those of all attempts. */
export const lastSeq = 999_999 * eventsPerAttempt

/** An error that comes with such an end has the id before it. */
const isOfNoAttempt = (seq: number): boolean => seq >= lastSeq - 1

const attemptOf = (seq: number): number => Math.floor(seq / eventsPerAttempt) + 1

/** Whether events are missing between two that follow each other, as far as their ids tell. */
export const isGap = (last: number, seq: number): boolean =>
  !isOfNoAttempt(seq) && seq > Math.max(last + 1, firstSeq(attemptOf(seq)))

/**
 * Tells a client that it has not got all events between two. A `metadata` event, which the official clients hand on as
 * it is; its id is the one before the next event, so that a client that comes back is not given anything twice.
 */
export function missedEvent(runId: string, last: number, next: number): RunEvent {
  const attempt = attemptOf(isOfNoAttempt(next) ? last : next)
  const data = Buffer.from(JSON.stringify({ run_id: runId, attempt, missed: true }))
  return { seq: next - 1, event: "metadata", data }
}

/**
 * What `Last-Event-ID` asks for: events after this one. `-1` is the beginning, as JS clients send it, and `-` the same
 * as the thread stream's (agent-server-api §5.14, §7.10).
 * @returns undefined when the header is absent or no id of ours: then only what is to come is sent
 */
export function parseLastEventId(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  if (header === "-" || header === "-1") return -1
  return /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

const separator = Buffer.from("\ndata: ")
const heads = new Map<string, Buffer>()

// Names with a task id in them are new for each task: the cache is emptied before they fill the memory.
const mostHeads = 1000

function headOf(event: string): Buffer {
  let head = heads.get(event)
  if (!head) {
    if (heads.size >= mostHeads) heads.clear()
    head = Buffer.concat([Buffer.from(`event: ${event}`), separator])
    heads.set(event, head)
  }
  return head
}

/**
 * The bytes of an event in `text/event-stream`: `event`, `data`, `id`, an empty line, each ended by LF
 * (agent-server-api §7.2, recordings `single-*.txt`). Stateless runs have ids too, unlike the JS server's (its part b.2).
 */
export function encodeEvent({ event, data, seq }: RunEvent): EncodedEvent {
  return { event, seq, ...bytesOf(event, data, String(seq)) }
}

/** The bytes of an event under an id of any form. */
export function bytesOf(event: string, data: Buffer, id: string): Omit<EncodedEvent, "event" | "seq"> {
  const tail = `\nid: ${id}\n\n`
  const head = headOf(event)
  const bytes = Buffer.allocUnsafe(head.length + data.length + tail.length)
  head.copy(bytes, 0)
  data.copy(bytes, head.length)
  const dataEnd = head.length + data.length
  bytes.write(tail, dataEnd, "latin1")
  return { bytes, dataStart: head.length, dataEnd }
}

/**
 * A comment that clients skip; it keeps proxies and idle watchdogs content. The empty line belongs to it: a parser that reads block by
 * block would drop the next event with it. The SDKs' decoders (JS up to 1.12 and 2.0) give an event without a name for it.
 */
export const heartbeat = Buffer.from(": heartbeat\n\n")
