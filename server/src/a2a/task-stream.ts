/** A subscriber that turns a run's events into frames of an A2A stream: what the assistant says, piece by piece. */
import { dataOf, type EncodedEvent } from "../events/event.js"
import type { Subscriber } from "../events/run-stream.js"
import { textOf } from "./task.js"

export interface Piece {
  readonly text: string
}

/** Gives the pieces of an assistant's answer as they come; over when the run is, or this server stops following. */
export class AnswerPieces implements Subscriber, AsyncIterable<Piece> {
  /** False when the run goes on and only this stream ended. */
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
      else this.#add(JSON.parse(dataOf(event).toString("utf8")))
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

  /** Chunks of the model only: whole messages come with the artifact, and tools do not speak to the client. */
  #add([chunk]: readonly { readonly type?: string; readonly content?: unknown }[]): void {
    const text = chunk?.type === "AIMessageChunk" ? textOf(chunk.content) : ""
    if (text !== "") this.#pieces.push({ text })
  }
}
