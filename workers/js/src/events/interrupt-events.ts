/**
 * Events that report an interrupt. They are sent once the state shows the interrupt (W10), since a client may read the state as
 * soon as it gets one. Other events of the stream go on meanwhile, so no write waits for an event that waits for the write.
 */
import { isRecord } from "@superstep/protocol/worker/validate"
import type { WireEvent } from "./wire-event.js"

export interface InterruptEventsOptions {
  /** Nothing is saved before the end of the run (durability `exit`). */
  readonly savesAtEnd: boolean
  /** Resolves when all saves that the graph has requested so far are done. */
  readonly savedSoFar: () => Promise<unknown>
  /** Resolves when everything is saved. Called when the graph's stream is over. */
  readonly allSaved: () => Promise<unknown>
  readonly send: (events: readonly WireEvent[]) => Promise<void> | undefined
}

export class InterruptEvents {
  readonly #options: InterruptEventsOptions
  /** Settles when the events that need not wait for the end are sent. */
  #sent: Promise<unknown> = Promise.resolve()
  #atEnd: WireEvent[] = []

  constructor(options: InterruptEventsOptions) {
    this.#options = options
  }

  /** Holds back the events of a chunk that report an interrupt. @returns the other events */
  take(events: readonly WireEvent[]): readonly WireEvent[] {
    const held = events.filter(tellsOfInterrupt)
    if (held.length === 0) return events
    const { savesAtEnd, savedSoFar, send } = this.#options
    // A breakpoint is the last event of a graph; its checkpoint may still be on its way.
    if (savesAtEnd || held.some(isBreakpoint)) this.#atEnd.push(...held)
    else this.#sent = Promise.all([this.#sent, savedSoFar()]).then(() => send(held))
    return events.filter((event) => !tellsOfInterrupt(event))
  }

  /** Called when the graph's stream is over; resolves when all held events are sent. */
  async end(): Promise<void> {
    await this.#sent
    if (this.#atEnd.length === 0) return
    await this.#options.allSaved()
    await this.#options.send(this.#atEnd)
  }
}

const isBreakpoint = ({ data }: WireEvent): boolean =>
  isRecord(data) && Array.isArray(data.__interrupt__) && data.__interrupt__.length === 0

/**
 * `updates` and `values` have interrupts under `__interrupt__`, `tasks` with a task's result, and `debug` wraps that. A user's state or
 * custom event may have a field `interrupts`, so the event's name decides.
 */
function tellsOfInterrupt({ name, data }: WireEvent): boolean {
  if (!isRecord(data)) return false
  try {
    switch (name.replace("protocol:", "").split("|", 1)[0]) {
      case "updates":
      case "values":
      case "input.requested":
        return Array.isArray(data.__interrupt__)
      case "tasks":
      case "lifecycle":
        return isQuestion(data.interrupts)
      case "debug":
        return isRecord(data.payload) && isQuestion(data.payload.interrupts)
      default:
        return false
    }
  } catch {
    // A value with a getter that fails.
    return false
  }
}

const isQuestion = (interrupts: unknown): boolean => Array.isArray(interrupts) && interrupts.length > 0
