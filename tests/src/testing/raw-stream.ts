/** One HTTP exchange on a socket of its own, as bytes: what a client sees before any library has read it. */
import { connect, type Socket } from "node:net"
import { until } from "@superstep/toolkit/testing/until"

export interface RawRequest {
  readonly path: string
  /** Makes it a POST. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export interface RawEvent {
  readonly event: string
  /** Parsed. */
  // biome-ignore lint/suspicious/noExplicitAny: what an event holds is what each test asserts
  readonly data: any
  readonly id: string
}

/** A server as the raw exchange needs it. */
export interface RawServer {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

// The whole grammar of a stream (agent-server-api §7.2): these lines in this order, LF, nothing else.
const block = /event: ([^\r\n]+)\ndata: ([^\r\n]*)\nid: ([^\r\n]+)\n\n|: heartbeat\n\n/y

/** Every event of a body, in order. @throws Error  when a byte of it is not as it must be */
export function parseStrictly(body: string): RawEvent[] {
  const events: RawEvent[] = []
  block.lastIndex = 0
  while (block.lastIndex < body.length) {
    const from = block.lastIndex
    const match = block.exec(body)
    if (!match) throw new Error(`not an event of a stream: ${JSON.stringify(body.slice(from, from + 200))}`)
    const [, event, data, id] = match
    if (event !== undefined && id !== undefined) events.push({ event, data: JSON.parse(data ?? ""), id })
  }
  return events
}

export class RawStream {
  readonly #socket: Socket
  #bytes = Buffer.alloc(0)
  #isOver = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on("data", (bytes) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes])
    })
    const over = () => {
      this.#isOver = true
    }
    socket.once("end", over).once("error", over).once("close", over)
  }

  /** Sends a request and waits for the reply's head. */
  static async open(server: RawServer, { path, body, headers = {} }: RawRequest): Promise<RawStream> {
    const { hostname, port, host } = new URL(server.url)
    const text = body === undefined ? "" : JSON.stringify(body)
    const fields = {
      host,
      accept: "text/event-stream",
      connection: "close",
      ...server.headers,
      ...headers,
      ...(body && { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
    }
    const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect(Number(port), hostname)
    const stream = new RawStream(socket)
    socket.write(`${body ? "POST" : "GET"} ${path} HTTP/1.1\r\n${head.join("")}\r\n${text}`)
    await until(() => stream.#headEnd > 0 || stream.#isOver, { what: `the reply to ${path}` })
    return stream
  }

  get #headEnd(): number {
    return this.#bytes.indexOf("\r\n\r\n")
  }

  get status(): number {
    return Number(this.#bytes.subarray(9, 12).toString("latin1"))
  }

  /** In lower case. */
  get headers(): Record<string, string> {
    const [, ...lines] = this.#bytes.subarray(0, this.#headEnd).toString("latin1").split("\r\n")
    return Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)]),
    )
  }

  /** What the body has by now, its chunks taken apart. */
  get body(): string {
    const bytes = this.#bytes.subarray(this.#headEnd + 4)
    if (this.headers["transfer-encoding"] !== "chunked") return bytes.toString("utf8")
    const parts: Buffer[] = []
    for (let at = 0; ; ) {
      const lineEnd = bytes.indexOf("\r\n", at)
      const size = lineEnd < 0 ? 0 : Number.parseInt(bytes.subarray(at, lineEnd).toString("latin1"), 16)
      if (size === 0 || lineEnd + 2 + size > bytes.length) break
      parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
      at = lineEnd + 2 + size + 2
    }
    return Buffer.concat(parts).toString("utf8")
  }

  /** The whole events that have come by now. */
  get events(): RawEvent[] {
    const { body } = this
    const end = body.lastIndexOf("\n\n")
    return end < 0 ? [] : parseStrictly(body.slice(0, end + 2))
  }

  /** Names of the events that have come by now. */
  get names(): string[] {
    return this.events.map(({ event }) => event)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Waits until the server has ended the reply. @returns its body */
  async ended(): Promise<string> {
    await until(() => this.#isOver, { what: "the stream ends", timeoutMs: 60_000 })
    return this.body
  }

  /** Goes away without a word. */
  leave(): void {
    this.#socket.destroy()
  }
}
