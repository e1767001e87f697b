/** A subscriber that waits for the end of a run, and keeps its result. */
import { dataOf, type EncodedEvent, resultEvent } from "./event.js"
import type { Subscriber } from "./topic.js"

export class AwaitedEnd implements Subscriber {
  readonly over: Promise<void>
  /** Stays false when this server stops before the run's end. */
  hasEnd = false
  isOver = false
  /** JSON text; a failed run is reported as `{"__error__": …}`. */
  result: string | undefined
  #end: () => void = () => undefined

  constructor() {
    this.over = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  accepts(event: string): boolean {
    return event === resultEvent || event === "error" || event === "end"
  }

  write(_bytes: Buffer, events: readonly EncodedEvent[]): void {
    for (const event of events) {
      const data = dataOf(event).toString("utf8")
      if (event.event === "end") this.hasEnd = true
      else this.result = event.event === "error" ? `{"__error__":${data}}` : data
    }
  }

  end(): void {
    this.isOver = true
    this.#end()
  }
}
