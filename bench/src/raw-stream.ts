/**
 * A listener that uses almost no processor time: it keeps the bytes of its socket and parses them after the clock has stopped.
 * So two hundred listeners leave the processor to the measured system.
 */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { createEventReader, type StreamedEvent } from "./event-reader.js"
import { BenchFailed, type Target } from "./http-client.js"

export interface RawStream {
  /** Resolves when the response headers have arrived. */
  readonly joined: Promise<unknown>
  /** Resolves when the response has ended or was cancelled. */
  readonly ended: Promise<unknown>
  /** When the last bytes arrived, by `performance.now()`. */
  lastAt(): number
  /** When this text had arrived for the first time; NaN when it never did. */
  arrivedAt(text: string): number
  giveUp(): void
  /** @throws BenchFailed  when the status is not 200 */
  events(): StreamedEvent[]
}

export interface RawStreamOptions {
  /** Sent as JSON by POST; without it the request is a GET. */
  readonly body?: unknown
  /** Ends the reading when it arrives, for a stream without an end. */
  readonly lastText?: string
}

interface Piece {
  readonly bytes: Buffer
  readonly at: number
}

export function openRawStream(target: Target, path: string, { body, lastText }: RawStreamOptions = {}): RawStream {
  const { address } = target
  const socket = connect("socketPath" in address ? { path: address.socketPath } : address)
  socket.write(requestOf(target, path, body))
  const pieces: Piece[] = []
  // The text may be divided between two pieces.
  let tail = ""
  const isLast = (bytes: Buffer): boolean => {
    if (lastText === undefined) return false
    const text = tail + bytes.toString("latin1")
    tail = text.slice(-lastText.length)
    return text.includes(lastText)
  }
  socket.on("data", (bytes) => {
    pieces.push({ bytes, at: performance.now() })
    if (isLast(bytes)) socket.destroy()
  })
  const ended = untilClosed(socket)
  const received = () => Buffer.concat(pieces.map(({ bytes }) => bytes))
  return {
    joined: Promise.race([once(socket, "data"), ended]),
    ended,
    lastAt: () => pieces.at(-1)?.at ?? Number.NaN,
    arrivedAt: (text) => arrivalOf(pieces, received().indexOf(text), Buffer.byteLength(text)),
    giveUp: () => socket.destroy(),
    events: () => readEvents(received(), path),
  }
}

/** When the last byte of a part of the response arrived. @param start  -1 when there is no such part */
function arrivalOf(pieces: readonly Piece[], start: number, length: number): number {
  let end = 0
  for (const { bytes, at } of pieces) {
    end += bytes.length
    if (start >= 0 && end >= start + length) return at
  }
  return Number.NaN
}

function requestOf({ prefix, headers }: Target, path: string, body: unknown): string {
  const text = body === undefined ? "" : JSON.stringify(body)
  const ofBody = body !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }
  const lines = Object.entries({ host: "bench", connection: "close", ...headers, ...ofBody }).map(
    ([key, value]) => `${key}: ${value}`,
  )
  return [`${body === undefined ? "GET" : "POST"} ${prefix}${path} HTTP/1.1`, ...lines, "", text].join("\r\n")
}

/** A reset also ends the stream: the bytes before it count, and the rest is missing. */
async function untilClosed(socket: Socket): Promise<void> {
  socket.on("error", () => undefined)
  await new Promise((resolve) => socket.once("close", resolve))
}

function readEvents(response: Buffer, path: string): StreamedEvent[] {
  const headEnd = response.indexOf("\r\n\r\n")
  const head = response.subarray(0, headEnd).toString()
  if (!/^HTTP\/1\.1 200 /.test(head)) throw new BenchFailed(`${path} returned ${head.split("\r\n")[0]}`)
  const body = response.subarray(headEnd + 4)
  const read = createEventReader()
  return /^transfer-encoding: *chunked/im.test(head) ? chunksOf(body).flatMap(read) : read(body)
}

/** @see RFC 9112, section 7.1: each chunk is its size in hexadecimal, a line end, its bytes, a line end */
function chunksOf(body: Buffer): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const lineEnd = body.indexOf("\r\n", at)
    const size = lineEnd < 0 ? 0 : Number.parseInt(body.toString("latin1", at, lineEnd), 16)
    if (size === 0) break
    chunks.push(body.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
  return chunks
}
