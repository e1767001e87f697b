/**
 * The client with which every hop forwards requests: edge to agent server, agent server to its project's app, app to agent
 * server. It streams in both directions with back-pressure. undici frames the bodies: no hop writes `Content-Length` or
 * `Transfer-Encoding` itself, because a receiver would read a body without either as the next request (decision 17).
 */
import { type Duplex, type Readable, Transform, type TransformCallback, type Writable } from "node:stream"
import { Client, type Dispatcher, errors, Pool } from "undici"
import { type Address, unixPathOf } from "./address.js"

export interface ForwardedRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  /** Name, value, name, value: the result of `requestHeadersOnward`, and headers that the hop adds. */
  readonly headers: readonly string[]
  readonly body: StreamedBody | Uint8Array | null
  readonly upgrade?: "websocket"
  /** Ends the request, and its response if that has started. */
  readonly signal?: AbortSignal | undefined
}

/** A streamed body. It is read once there is a connection, and never destroyed; the rest of it stays unread. */
export interface StreamedBody {
  /** Its owner must handle errors that it emits after the exchange. */
  readonly source: Readable
  /** The number of bytes, if `Content-Length` was given; any other number of bytes aborts the request. */
  readonly length?: number | undefined
  readonly limitBytes?: number | undefined
}

/** Receives the response. */
export interface AnswerTaker {
  /** @returns  the stream for the body; when it closes early, the request ends */
  onAnswer(status: number, headers: string[]): Writable
  /** Called when the other side has switched protocols: from now on the socket carries the new protocol, in both directions. */
  onUpgrade?(status: number, headers: string[], socket: Duplex): void
}

/** No connection was made, so nothing was sent: the same request may be sent to another server. */
export class NotSent extends Error {}

/** The body is larger than its `limitBytes`; the request was aborted. */
export class BodyTooLarge extends Error {}

interface WayOptions {
  readonly maxHeaderBytes?: number
  /** How long an idle connection is kept, in milliseconds. */
  readonly idleMs?: number
}

// One request at a time on a connection: undici never resends a request that it has started to send. Responses have no time limit.
const always = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0 } as const

/** Whether an answer was refused since all of its headers together are larger than `maxHeaderBytes`, or 16 KB. */
export const hasLargeHeaders = (error: unknown): boolean =>
  (error as { readonly code?: unknown } | null)?.code === "UND_ERR_HEADERS_OVERFLOW"

/** Connections to one server, kept for later requests: as many as there are concurrent requests. */
export function keptConnections(address: Address, { maxHeaderBytes, idleMs = 4000 }: WayOptions): Pool {
  const socketPath = unixPathOf(address)
  return new Pool(socketPath === undefined ? address : "http://localhost", {
    ...always,
    ...(socketPath !== undefined && { socketPath }),
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    ...(maxHeaderBytes !== undefined && { maxHeaderSize: maxHeaderBytes }),
  })
}

/** A connection for one request: a malformed response cannot affect another request. */
export const oneConnection = (socketPath: string): Client => new Client("http://localhost", { ...always, socketPath })

/**
 * Sends a request, once.
 * @returns  resolves when the complete response has been passed on, or the protocol was switched
 * @throws NotSent       no connection was made
 * @throws BodyTooLarge  and it is unknown what the server did
 * @throws  the error that aborted the exchange; a response that had started is aborted too
 */
export const forward = (way: Dispatcher, request: ForwardedRequest, taker: AnswerTaker): Promise<void> =>
  new Promise((resolve, reject) => {
    const { method, path, upgrade, signal } = request
    const headers = [...request.headers]
    const isWhole = request.body === null || request.body instanceof Uint8Array
    const body = isWhole ? request.body : new OutgoingBody(request.body)
    const streamed = body instanceof OutgoingBody ? body : undefined
    // undici sends this header, and compares it with the body's bytes.
    if (streamed?.length !== undefined) headers.push("content-length", String(streamed.length))
    way.dispatch(
      { method: method as Dispatcher.HttpMethod, path, headers, body, ...(upgrade && { upgrade }) },
      new Exchange({ signal, taker, body: streamed, resolve, reject }),
    )
  })

/** Passes a streamed body to undici, which destroys the stream it gets; the source is not destroyed. */
class OutgoingBody extends Transform {
  readonly length: number | undefined
  readonly #source: Readable
  readonly #limit: number
  #seen = 0
  readonly #onError = (error: Error) => this.destroy(error)
  // A source that is destroyed without an error does not end the pipe.
  readonly #onClose = () => this.#source.readableEnded || this.destroy(new Error("the request body was aborted"))

  constructor({ source, length, limitBytes = Number.POSITIVE_INFINITY }: StreamedBody) {
    super()
    this.length = length
    this.#source = source
    this.#limit = limitBytes
    source.once("error", this.#onError).once("close", this.#onClose)
    // The body may fail before undici listens for errors, or after.
    this.on("error", () => undefined)
    if (source.destroyed) this.#onClose()
  }

  start(): void {
    this.#source.pipe(this)
  }

  release(): void {
    this.#source.off("error", this.#onError).off("close", this.#onClose)
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#seen += chunk.length
    if (this.#seen > this.#limit) done(new BodyTooLarge(`the body is larger than ${this.#limit} bytes`))
    else done(null, chunk)
  }
}

interface ExchangeOptions {
  readonly signal: AbortSignal | undefined
  readonly taker: AnswerTaker
  readonly body: OutgoingBody | undefined
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Handles undici's callbacks for one request and its response. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions
  readonly #onAbort = () => this.#controller?.abort(this.#reason())
  #controller: Dispatcher.DispatchController | undefined
  #sink: Writable | undefined
  #isOver = false

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /** Called when there is a connection; the head is written when this returns. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { signal, body } = this.#options
    this.#controller = controller
    if (signal?.aborted) {
      controller.abort(this.#reason())
    } else {
      signal?.addEventListener("abort", this.#onAbort, { once: true })
      body?.start()
    }
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    // Early hints and other 1xx responses are for this hop only.
    if (status < 200) return
    const sink = this.#options.taker.onAnswer(status, rawHeadersOf(controller))
    this.#sink = sink
    const abandon = () => this.#isOver || controller.abort(new Error("the reader of the response was closed"))
    sink.on("error", abandon).once("close", abandon)
    sink.on("drain", () => controller.resume())
    if (sink.destroyed) abandon()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#sink?.write(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#end()
    this.#sink?.end()
    this.#options.resolve()
  }

  onRequestUpgrade(controller: Dispatcher.DispatchController, status: number, _: unknown, socket: Duplex): void {
    this.#end()
    this.#options.taker.onUpgrade?.(status, rawHeadersOf(controller), socket)
    this.#options.resolve()
  }

  onResponseError(_: unknown, error: Error): void {
    this.#end()
    this.#sink?.destroy(error)
    // An aborted body, or a request that undici rejects, would fail at another unit too.
    const isHopeless = this.#options.body?.errored === error || error instanceof errors.InvalidArgumentError
    const isNotSent = !this.#controller && !isHopeless
    this.#options.reject(isNotSent ? new NotSent("no connection was made", { cause: error }) : error)
  }

  #end(): void {
    this.#isOver = true
    this.#options.body?.release()
    this.#options.signal?.removeEventListener("abort", this.#onAbort)
  }

  #reason(): Error {
    return new Error("the request was aborted", { cause: this.#options.signal?.reason })
  }
}

/** undici returns raw headers as bytes; they are latin1, as everywhere in Node. */
const rawHeadersOf = ({ rawHeaders }: Dispatcher.DispatchController): string[] =>
  (rawHeaders as readonly Buffer[]).map((part) => part.toString("latin1"))
