/**
 * The client that every hop forwards requests with: edge to agent server, agent server to its project's app, app to agent
 * server. It streams both ways with back-pressure. undici frames the bodies: no hop writes `Content-Length` or
 * `Transfer-Encoding` itself, because a body without either is the next request to whoever reads it (decision 17).
 */
import { type Duplex, type Readable, Transform, type TransformCallback, type Writable } from "node:stream"
import { Client, type Dispatcher, errors, Pool } from "undici"

export interface ForwardedRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** Name, value, name, value: what `requestHeadersOnward` leaves, and what the hop adds. */
  readonly headers: readonly string[]
  readonly body: StreamedBody | Uint8Array | null
  readonly upgrade?: "websocket"
  /** Ends the request, and its answer where that has begun. */
  readonly signal?: AbortSignal | undefined
}

/** A body as it comes. It is read once a connection is there, never destroyed, and what is left of it stays unread. */
export interface StreamedBody {
  /** Its owner listens for errors that it raises after the exchange. */
  readonly source: Readable
  /** Bytes, where its `Content-Length` said so; another number of bytes breaks the request off. */
  readonly length?: number | undefined
  readonly limitBytes?: number | undefined
}

/** What becomes of the answer. */
export interface AnswerTaker {
  /** @returns  where the body goes; when it closes early, the request ends */
  onAnswer(status: number, headers: string[]): Writable
  /** The other side has switched protocols: the socket carries whatever comes now, both ways. */
  onUpgrade?(status: number, headers: string[], socket: Duplex): void
}

/** No connection was made, so nothing was sent: the same request may be sent elsewhere. */
export class NotSent extends Error {}

/** The body is larger than its `limitBytes`; the request was broken off. */
export class BodyTooLarge extends Error {}

interface WayOptions {
  readonly maxHeaderBytes?: number
  /** How long a connection is kept that nothing is sent over. */
  readonly idleMs?: number
}

// One request at a time on a connection: undici sends none again that it has begun to send. Answers take as long as they take.
const always = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0 } as const

/** Connections to one server, which are kept for the next request: as many as there are requests at a time. */
export const keptConnections = (socketPath: string, { maxHeaderBytes, idleMs = 4000 }: WayOptions): Pool =>
  new Pool("http://localhost", {
    ...always,
    socketPath,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    ...(maxHeaderBytes !== undefined && { maxHeaderSize: maxHeaderBytes }),
  })

/** A connection for one request: what is wrong with its answer cannot reach another request. */
export const oneConnection = (socketPath: string): Client => new Client("http://localhost", { ...always, socketPath })

/**
 * Sends a request, once.
 * @returns  resolves when the answer has been handed on to its end, or the protocol was switched
 * @throws NotSent       no connection was made
 * @throws BodyTooLarge  and nobody knows what was done
 * @throws  what broke the exchange off; an answer that had begun breaks off as well
 */
export const forward = (way: Dispatcher, request: ForwardedRequest, taker: AnswerTaker): Promise<void> =>
  new Promise((resolve, reject) => {
    const { method, path, upgrade, signal } = request
    const headers = [...request.headers]
    const isWhole = request.body === null || request.body instanceof Uint8Array
    const body = isWhole ? request.body : new OutgoingBody(request.body)
    const streamed = body instanceof OutgoingBody ? body : undefined
    // undici writes it, and compares it with what comes.
    if (streamed?.length !== undefined) headers.push("content-length", String(streamed.length))
    way.dispatch(
      { method: method as Dispatcher.HttpMethod, path, headers, body, ...(upgrade && { upgrade }) },
      new Exchange({ signal, taker, body: streamed, resolve, reject }),
    )
  })

/** A streamed body on its way to undici, which destroys what it is given; the source lives on. */
class OutgoingBody extends Transform {
  readonly length: number | undefined
  readonly #source: Readable
  readonly #limit: number
  #seen = 0
  readonly #onError = (error: Error) => this.destroy(error)
  // A stream that is destroyed without an error ends no pipe.
  readonly #onClose = () => this.#source.readableEnded || this.destroy(new Error("the body broke off"))

  constructor({ source, length, limitBytes = Number.POSITIVE_INFINITY }: StreamedBody) {
    super()
    this.length = length
    this.#source = source
    this.#limit = limitBytes
    source.once("error", this.#onError).once("close", this.#onClose)
    // It may break before undici listens, and after.
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

/** One request and its answer, as undici tells of them. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions
  readonly #onAbort = () => this.#controller?.abort(this.#reason())
  #controller: Dispatcher.DispatchController | undefined
  #sink: Writable | undefined
  #isOver = false

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /** A connection is there; the head is written when this returns. */
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
    // Early hints and other 1xx answers are for this hop only.
    if (status < 200) return
    const sink = this.#options.taker.onAnswer(status, rawHeadersOf(controller))
    this.#sink = sink
    const abandon = () => this.#isOver || controller.abort(new Error("nobody reads the answer any more"))
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
    // A body that broke off, or a request that undici refuses, would fail at another unit too.
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
    return new Error("the request was given up", { cause: this.#options.signal?.reason })
  }
}

/** undici gives what came over the wire as bytes; headers are latin1, as everywhere in Node. */
const rawHeadersOf = ({ rawHeaders }: Dispatcher.DispatchController): string[] =>
  (rawHeaders as readonly Buffer[]).map((part) => part.toString("latin1"))
