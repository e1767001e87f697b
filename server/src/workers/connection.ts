/** A worker's socket as frames. It owns the socket: whoever holds a connection only sends, listens and closes. */
import type { Socket } from "node:net"
import type { WorkerFrame } from "@superstep/protocol/worker/frames"
import type { PayloadLine } from "./calls.js"
import { FrameReader } from "./frame-reader.js"
import { FrameWriter } from "./frame-writer.js"
import { parseHeader } from "./headers.js"

export interface FrameListener {
  onFrame(frame: WorkerFrame, payload: Buffer[]): void
  /** Called once; no frame comes after it. @param reason  why we closed it, undefined when the worker did */
  onClose(reason: string | undefined): void
}

export class Connection {
  readonly #socket: Socket
  readonly #writer: FrameWriter
  readonly #reader: FrameReader<WorkerFrame>
  #listener: FrameListener
  #reason: string | undefined
  #pauses = 0

  constructor(socket: Socket, listener: FrameListener) {
    this.#socket = socket
    this.#listener = listener
    this.#writer = new FrameWriter(socket)
    this.#reader = new FrameReader(parseHeader, (frame, payload) => this.#listener.onFrame(frame, payload))
    socket.on("data", (chunk) => this.#read(chunk))
    // A broken pipe is how a killed worker looks from here; `close` follows and says the rest.
    socket.on("error", () => socket.destroy())
    socket.on("close", () => this.#listener.onClose(this.#reason))
  }

  /** Hands the conversation on, for example when the first frame has told who is talking. */
  handTo(listener: FrameListener): void {
    this.#listener = listener
  }

  send(header: object, lines: readonly PayloadLine[] = []): void {
    this.#writer.write(header, lines)
  }

  get isPaused(): boolean {
    return this.#pauses > 0
  }

  /** Reads nothing more until a promise is settled; the worker stops producing once its socket is full. */
  pauseUntil(settled: Promise<void>): void {
    this.#pauses += 1
    this.#socket.pause()
    const resume = () => {
      this.#pauses -= 1
      if (this.#pauses === 0) this.#socket.resume()
    }
    settled.then(resume, resume)
  }

  /** Closes at once; what is not sent is dropped. */
  close(reason: string): void {
    this.#reason ??= reason
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    if (this.#socket.destroyed) return
    try {
      this.#reader.push(chunk)
    } catch (error) {
      // After a frame that could not be read or handled, nobody knows where the next one begins or what it is worth.
      this.close(error instanceof Error ? error.message : String(error))
    }
  }
}
