/**
 * A listener that costs next to nothing: what comes on its socket is kept as it is and read when the clock has stopped.
 * Two hundred of them leave the processor to the system that feeds them.
 */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { createEventReader, type StreamedEvent } from "./event-reader.js"
import { BenchFailed, type Target } from "./http-client.js"

export interface RawStream {
  /** The response's head has come. */
  readonly joined: Promise<unknown>
  /** The response is over, or was given up. */
  readonly ended: Promise<unknown>
  /** When the last bytes came, by `performance.now()`. */
  lastAt(): number
  giveUp(): void
  /** @throws BenchFailed  when the answer is no 200 */
  events(): StreamedEvent[]
}

export function openRawStream({ address, prefix, headers }: Target, path: string): RawStream {
  const socket = connect("socketPath" in address ? { path: address.socketPath } : address)
  const lines = Object.entries({ host: "bench", connection: "close", ...headers }).map(
    ([key, value]) => `${key}: ${value}`,
  )
  socket.write([`GET ${prefix}${path} HTTP/1.1`, ...lines, "", ""].join("\r\n"))
  const pieces: Buffer[] = []
  let at = Number.NaN
  socket.on("data", (bytes) => {
    pieces.push(bytes)
    at = performance.now()
  })
  const ended = untilClosed(socket)
  return {
    joined: Promise.race([once(socket, "data"), ended]),
    ended,
    lastAt: () => at,
    giveUp: () => socket.destroy(),
    events: () => readEvents(Buffer.concat(pieces), path),
  }
}

/** A reset is an end too: what came before it counts, and the rest is missing. */
async function untilClosed(socket: Socket): Promise<void> {
  socket.on("error", () => undefined)
  await new Promise((resolve) => socket.once("close", resolve))
}

function readEvents(response: Buffer, path: string): StreamedEvent[] {
  const headEnd = response.indexOf("\r\n\r\n")
  const head = response.subarray(0, headEnd).toString()
  if (!/^HTTP\/1\.1 200 /.test(head)) throw new BenchFailed(`GET ${path} answered ${head.split("\r\n")[0]}`)
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
