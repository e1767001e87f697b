/**
 * The worker's end of the socket: frames in and out, and calls with their replies. It owns the pending calls; when the socket
 * closes they all fail, and `onClose` ends the process.
 */
import type { Socket } from "node:net"
import { FrameReader } from "@superstep/protocol/worker/frame-reader"
import type { Failure, ReplyFrame, ServerFrame, WorkerCall, WorkerFrame } from "@superstep/protocol/worker/frames"
import { isRecord, problemOf, type Validators } from "@superstep/protocol/worker/validate"
import { serverCalls, serverFrames } from "@superstep/protocol/worker/validators"
import { FrameWriter } from "./frame-writer.js"

/** The server's reply to a call: header and payload lines. */
export interface Reply {
  readonly header: ReplyFrame
  readonly payload: readonly Buffer[]
}

/** The server rejected a call. `name` is the protocol's name of the error, such as `ClaimLost`. */
export class CallFailed extends Error {
  constructor({ error, message }: Failure) {
    super(message)
    this.name = error
  }
}

/** A call without the fields that the connection adds; each method keeps its own fields. */
export type CallFields = WorkerCall extends infer Each
  ? Each extends WorkerCall
    ? Omit<Each, "type" | "call_id" | "payload">
    : never
  : never

/** A frame for the runner: any frame that is not the reply to a call. */
export type IncomingFrame = Exclude<ServerFrame, { readonly type: "reply" | "failure" }>

export interface Listener {
  onFrame(frame: IncomingFrame, payload: readonly Buffer[]): void
  /** Called when the connection is closed, or the server sent an invalid frame. */
  onClose(reason: string): void
}

interface PendingCall {
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
}

/** A header that this side sends, in the type that the writer needs. */
type Outgoing = WorkerFrame & { readonly payload?: readonly string[] }

export class Connection {
  readonly #socket: Socket
  readonly #writer: FrameWriter
  readonly #reader = new FrameReader(parseHeader, (header, payload) => this.#receive(header, payload))
  readonly #pending = new Map<string, PendingCall>()
  readonly #listener: Listener
  #lastCall = 0

  constructor(socket: Socket, listener: Listener) {
    this.#socket = socket
    this.#listener = listener
    this.#writer = new FrameWriter(socket)
    socket.on("data", (chunk) => this.#read(chunk))
    socket.on("error", (error) => this.#close(error.message))
    socket.on("close", () => this.#close("the server closed the connection"))
  }

  send(frame: Outgoing, payload: readonly string[] = []): void {
    this.#writer.send(frame, payload)
  }

  /** Undefined while there is room; else a promise to wait for before producing more. */
  full(): Promise<void> | undefined {
    return this.#writer.full()
  }

  /**
   * Calls a method of the server.
   * @param payload  names and lines, in order
   * @throws CallFailed  the server answered with `failure`
   */
  call(fields: CallFields, payload: readonly (readonly [name: string, line: string])[] = []): Promise<Reply> {
    this.#lastCall += 1
    const callId = String(this.#lastCall)
    const names = payload.length === 0 ? {} : { payload: payload.map(([name]) => name) }
    const header = { type: "call", call_id: callId, ...fields, ...names }
    return new Promise((resolve, reject) => {
      this.#pending.set(callId, { resolve, reject })
      this.#writer.send(
        header,
        payload.map(([, line]) => line),
      )
    })
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk)
    } catch (error) {
      this.#close(error instanceof Error ? error.message : String(error))
    }
  }

  #receive(received: Record<string, unknown>, payload: readonly Buffer[]): void {
    requireValid(serverFrames, "type", received)
    // The validators are generated from the schema of which this is the type.
    const header = received as unknown as ServerFrame
    if (header.type === "call") {
      if (!Object.hasOwn(serverCalls, header.method)) {
        const error = { error: "UnknownMethod", message: `this worker has no method ${header.method}` }
        this.send({ type: "failure", call_id: header.call_id, error })
        return
      }
      requireValid(serverCalls, "method", received)
    }
    if (header.type === "reply") this.#settle(header.call_id)?.resolve({ header, payload })
    else if (header.type === "failure") this.#settle(header.call_id)?.reject(new CallFailed(header.error))
    else this.#listener.onFrame(header, payload)
  }

  #settle(callId: string): PendingCall | undefined {
    const pending = this.#pending.get(callId)
    this.#pending.delete(callId)
    return pending
  }

  #close(reason: string): void {
    const error = new CallFailed({ error: "ConnectionClosed", message: reason })
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
    this.#socket.destroy()
    this.#listener.onClose(reason)
  }
}

/** @throws an error that ends the connection: both sides come from one version of this protocol */
function requireValid(validators: Validators, by: "type" | "method", header: Readonly<Record<string, unknown>>): void {
  const problem = problemOf(validators, by, header)
  if (problem !== undefined) throw new Error(`cannot understand a frame of type ${String(header.type)}: ${problem}`)
}

/** @throws an error that contains the line, when it is not a JSON object */
export function parseHeader(line: string): Record<string, unknown> {
  let header: unknown
  try {
    header = JSON.parse(line)
  } catch (cause) {
    throw new Error(`a frame's header is not JSON: ${line.slice(0, 200)}`, { cause })
  }
  if (!isRecord(header)) throw new Error(`a frame's header is not an object: ${line.slice(0, 200)}`)
  return header
}
