/**
 * Writes frames to a socket: all frames of one tick are sent in one system call, and while the socket is full they wait
 * here. Waiting frames are bounded: the server only answers calls, and starts as many runs as there are slots.
 */
import type { Socket } from "node:net"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { PayloadLine } from "./port.js"

export class FrameWriter {
  readonly #socket: Socket
  #waiting: (string | Buffer)[] = []
  #isScheduled = false
  #isFull = false

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on("drain", () => {
      this.#isFull = false
      this.#flush()
    })
  }

  /** @param header  without `payload`, which is added from the lines' names */
  write(header: object, lines: readonly PayloadLine[] = []): void {
    const names = lines.length === 0 ? {} : { payload: lines.map(({ name }) => name) }
    this.#waiting.push(`${toJsonText({ ...header, ...names })}\n`)
    for (const { data } of lines) this.#waiting.push(data, "\n")
    if (this.#isScheduled) return
    this.#isScheduled = true
    process.nextTick(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#isFull || this.#waiting.length === 0 || this.#socket.destroyed) return
    const parts = this.#waiting
    this.#waiting = []
    this.#socket.cork()
    for (const part of withTextsJoined(parts)) this.#isFull = !this.#socket.write(part)
    this.#socket.uncork()
  }
}

/** Joins consecutive texts: writing ten pieces takes twice the time of writing one. */
function withTextsJoined(parts: readonly (string | Buffer)[]): (string | Buffer)[] {
  const joined: (string | Buffer)[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (typeof part === "string" && typeof last === "string") joined[joined.length - 1] = last + part
    else joined.push(part)
  }
  return joined
}
