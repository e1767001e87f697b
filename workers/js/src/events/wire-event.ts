/** One item of a run's stream before it is sent: its name on the wire and its data. */
import { serialise } from "../values/serialise.js"

export interface WireEvent {
  readonly name: string
  /** The graph's value that the event shows. */
  readonly data: unknown
  /** The event's JSON text, when it is not that of `data`. */
  readonly text?: string
  /** The JSON text of `data`, which other events may have, too (W6). */
  readonly json?: SharedJson
  /** What stands before and after the JSON text of `data`. */
  readonly around?: readonly [string, string]
}

/** The JSON text of a value, made once, when it is first needed. */
export class SharedJson {
  readonly #value: unknown
  #text: string | undefined

  constructor(value: unknown) {
    this.#value = value
  }

  text(): string {
    this.#text ??= serialise(this.#value)
    return this.#text
  }
}

export function eventText({ data, text, json, around }: WireEvent): string {
  if (text !== undefined) return text
  const inner = json === undefined ? serialise(data) : json.text()
  return around === undefined ? inner : `${around[0]}${inner}${around[1]}`
}
