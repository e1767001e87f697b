/** A worker's socket as a stream of frames. It owns the socket: users of a connection only send, listen and close. */
import type { Socket } from "node:net"
import { FrameReader } from "@superstep/protocol/worker/frame-reader"
import type { WorkerFrame } from "@superstep/protocol/worker/frames"
import { FrameWriter } from "./frame-writer.js"
import { parseHeader } from "./headers.js"
import type { PayloadLine } from "./port.js"

export interface FrameListener {
  onFrame(frame: WorkerFrame, payload: Buffer[]): void
  /** Called once; no frame comes after it. @param reason  why this side closed it; undefined when the worker closed it */
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
    // A killed worker causes a broken pipe; `close` follows and is handled below.
    socket.on("error", () => socket.destroy())
    socket.on("close", () => this.#listener.onClose(this.#reason))
  }

  /** Changes the listener, for example when the first frame has identified the worker. */
  handTo(listener: FrameListener): void {
    this.#listener = listener
  }

  send(header: object, lines: readonly PayloadLine[] = []): void {
    this.#writer.write(header, lines)
  }

  get isPaused(): boolean {
    return this.#pauses > 0
  }

  /** Stops reading until a promise is settled; the worker stops producing once its socket is full. */
  pauseUntil(settled: Promise<void>): void {
    this.#pauses += 1
    this.#socket.pause()
    const resume = () => {
      this.#pauses -= 1
      if (this.#pauses === 0) this.#socket.resume()
    }
    settled.then(resume, resume)
  }

  /** Closes at once; unsent frames are dropped. */
  close(reason: string): void {
    this.#reason ??= reason
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    if (this.#socket.destroyed) return
    try {
      this.#reader.push(chunk)
    } catch (error) {
      // After a frame that could not be parsed or handled, the start and the meaning of the next one are unknown.
      this.close(error instanceof Error ? error.message : String(error))
    }
  }
}
