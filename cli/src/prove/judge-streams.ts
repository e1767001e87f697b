/** Judges the streams of a resumable run that clients received, against its log. Pure: a sentence for each fault. */
import type { ReceivedEvent } from "./event-client.js"

// The ids of attempt n start at (n − 1) · 10⁹ (docs/durability.md).
const eventsPerAttempt = 1_000_000_000

/** The attempt that published an event. */
export const attemptOf = (id: number): number => Math.floor(id / eventsPerAttempt) + 1

/** Within an attempt ids have no gap; each begins with `metadata`; the end is last, once. */
export function holesInLog(log: readonly ReceivedEvent[]): string[] {
  return log.flatMap(({ id, event }, index) => {
    const former = log[index - 1]
    const isNext = former !== undefined && id === former.id + 1
    const isFirst = id % eventsPerAttempt === 0 && event === "metadata"
    const isLateEnd = event === "end" && id === 999_999 * eventsPerAttempt
    const holes: string[] = []
    if (!isNext && !isFirst && !isLateEnd) holes.push(`its log goes from ${former?.id} to ${id} (${event})`)
    if (event === "end" && index < log.length - 1) holes.push(`its log goes on after the end ${id}`)
    return holes
  })
}

/** A client that comes when the run has ended gets the log, and an end in any case: one that no log has comes from the table. */
export function holesInReread(again: readonly ReceivedEvent[], log: readonly ReceivedEvent[]): string[] {
  const output = (events: readonly ReceivedEvent[]) => JSON.stringify(events.filter(({ event }) => event !== "end"))
  const isSame = output(again) === output(log) && again.at(-1)?.event === "end"
  return isSame ? [] : ["a client that reads it again does not get its log"]
}

/** A client has the log, in order, once, and nothing that the log does not have, also of an attempt that was killed (B5). */
export function holesInStream(stream: readonly ReceivedEvent[], log: readonly ReceivedEvent[]): string[] {
  const holes: string[] = []
  stream.forEach(({ id }, index) => {
    const former = stream[index - 1]?.id ?? -1
    if (id <= former) holes.push(`a client got ${id} after ${former}`)
  })
  const received = new Map(stream.map((event) => [event.id, event]))
  for (const event of log) {
    const same = received.get(event.id)
    if (!same) holes.push(`a client never got ${event.id} (${event.event})`)
    else if (JSON.stringify(same) !== JSON.stringify(event)) holes.push(`a client got another ${event.id}`)
  }
  const kept = new Set(log.map(({ id }) => id))
  for (const { id, event } of stream) {
    // The table has the end of a run whose log has none.
    if (kept.has(id) || event === "end") continue
    holes.push(`a client got ${id} (${event}), which the log does not have`)
  }
  if (stream.at(-1)?.event !== "end") holes.push("a client's stream has no end")
  return holes
}
