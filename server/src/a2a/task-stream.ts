/** A subscriber that turns a run's message events into the text chunks of an A2A stream. */
import { parseJson } from "@superstep/toolkit/http/json"
import { dataOf, type EncodedEvent } from "../events/event.js"
import type { Subscriber } from "../events/topic.js"
import { textOf } from "./task.js"

export interface Piece {
  readonly text: string
}

/** Yields the chunks of an assistant's answer. Ends with the run, or when this server ends the subscription. */
export class AnswerPieces implements Subscriber, AsyncIterable<Piece> {
  /** Whether the run has ended. False after the end of the stream: only the subscription ended. */
  hasEnd = false
  readonly #pieces: Piece[] = []
  #isOver = false
  #wake: () => void = () => undefined

  accepts(event: string): boolean {
    return event === "messages" || event === "end"
  }

  write(_bytes: Buffer, events: readonly EncodedEvent[]): void {
    for (const event of events) {
      if (event.event === "end") this.hasEnd = true
      else this.#add(parseJson(dataOf(event).toString("utf8")))
    }
    this.#wake()
  }

  end(): void {
    this.#isOver = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Piece> {
    for (;;) {
      yield* this.#pieces.splice(0)
      if (this.#isOver) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        if (this.#pieces.length > 0 || this.#isOver) resolve()
      })
    }
  }

  /** Only chunks of the model: complete messages arrive in the artifact, and tool messages are not for the client. */
  #add([chunk]: readonly { readonly type?: string; readonly content?: unknown }[]): void {
    const text = chunk?.type === "AIMessageChunk" ? textOf(chunk.content) : ""
    if (text !== "") this.#pieces.push({ text })
  }
}
