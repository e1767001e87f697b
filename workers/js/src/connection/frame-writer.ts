/**
 * Writes frames to the socket, with a promise to wait for while the socket is full. The first frames of a tick are written at once: a
 * graph that never waits would else send its first event when it has ended. All further frames of the tick go out in one write.
 */
import type { Writable } from "node:stream"

// A graph's stream may produce any number of chunks at once. Writing this early makes `full` return a promise before all of
// them are queued here.
const maxUnwritten = 256 * 1024

export class FrameWriter {
  readonly #socket: Writable
  #text: string[] = []
  /** Characters in `#text`. */
  #unwritten = 0
  #isScheduled = false
  #drained: Promise<void> | undefined

  constructor(socket: Writable) {
    this.#socket = socket
  }

  /**
   * Queues a frame. Order is kept; the bytes are written when the present function has returned, or, unless they are many, at the end of
   * this tick when others were written in it before.
   * @param payload  the lines that `header.payload` names: text without line breaks
   */
  send(header: { readonly payload?: readonly string[] }, payload: readonly string[] = []): void {
    this.#push(JSON.stringify(header))
    for (const line of payload) this.#push(line)
    if (this.#unwritten > maxUnwritten) this.#flush()
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => this.#flush())
    // Runs after all promise jobs of the present tick, so that a burst of events becomes one write.
    process.nextTick(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  /** Undefined while the socket accepts more; else a promise that resolves when it does, or when it has closed. */
  full(): Promise<void> | undefined {
    return this.#drained
  }

  #push(line: string): void {
    this.#text.push(line, "\n")
    this.#unwritten += line.length
  }

  #flush(): void {
    const text = this.#text.join("")
    this.#text = []
    this.#unwritten = 0
    if (text === "" || this.#socket.destroyed) return
    const hasRoom = this.#socket.write(text)
    if (!hasRoom && this.#drained === undefined) this.#drained = this.#untilDrained()
  }

  #untilDrained(): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        this.#socket.off("drain", go).off("close", go)
        this.#drained = undefined
        resolve()
      }
      this.#socket.on("drain", go).on("close", go)
    })
  }
}
