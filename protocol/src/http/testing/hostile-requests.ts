/** Requests that two parsers could read differently: each hop must reject them or forward exactly one request. */
import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { connect } from "node:net"

export interface HostileRequest {
  readonly name: string
  readonly method: string
  readonly bytes: string
  /** The body that the next hop gets; undefined: it gets no request, and the caller gets 400. */
  readonly body: string | undefined
}

export interface Victim {
  readonly path: string
  /** Lines of the request's head, each with its line end; they must request that the connection is closed. */
  readonly head: string
  /** The request that must not be seen: a complete one, with its empty line. */
  readonly hidden: string
}

const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`

/** The table. Every case contains `hidden` where one of two parsers would look for the next request. */
export function hostileRequests({ path, head, hidden }: Victim): HostileRequest[] {
  const length = `Content-Length: ${hidden.length}`
  const te = "Transfer-Encoding: chunked"
  const request = (method: string, rest: string, version = "HTTP/1.1") =>
    `${method} ${path} ${version}\r\n${head}${rest}`
  const passes = (name: string, method: string, rest: string): HostileRequest => ({
    name: `${method}: ${name}`,
    method,
    bytes: request(method, rest),
    body: hidden,
  })
  const refused = (name: string, rest: string): HostileRequest => ({
    name,
    method: "DELETE",
    bytes: request("DELETE", rest),
    body: undefined,
  })
  const bodies = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PATCH"].flatMap((method) => [
    passes("a body of known length", method, `${length}\r\n\r\n${hidden}`),
    passes("a body in chunks", method, `${te}\r\n\r\n${chunked(hidden)}`),
  ])
  return [
    ...bodies,
    passes("Connection names the length", "DELETE", `Connection: content-length\r\n${length}\r\n\r\n${hidden}`),
    passes("Connection names the chunks", "DELETE", `Connection: transfer-encoding\r\n${te}\r\n\r\n${chunked(hidden)}`),
    passes("the length has spaces around it", "DELETE", `Content-Length:  \t${hidden.length} \r\n\r\n${hidden}`),
    passes(
      "the chunks have an extension",
      "DELETE",
      `${te}\r\n\r\n${hidden.length.toString(16)};a="b"\r\n${hidden}\r\n0\r\n\r\n`,
    ),
    passes("the caller waits for no 100 Continue", "POST", `Expect: 100-continue\r\n${length}\r\n\r\n${hidden}`),
    passes(
      "trailers that speak for us",
      "DELETE",
      `${te}\r\nTrailer: x-superstep-unit\r\n\r\n${chunked(hidden).slice(0, -2)}X-Superstep-Unit: u\r\n\r\n`,
    ),
    refused(
      "a trailer that frames",
      `${te}\r\n\r\n${chunked(hidden).slice(0, -2)}Content-Length: 3\r\n\r\nabc${hidden}`,
    ),
    refused("a length and chunks", `${length}\r\n${te}\r\n\r\n0\r\n\r\n${hidden}`),
    refused("chunks and a length", `${te}\r\n${length}\r\n\r\n0\r\n\r\n${hidden}`),
    refused("two lengths", `Content-Length: 0\r\n${length}\r\n\r\n${hidden}`),
    refused("the same length twice", `${length}\r\n${length}\r\n\r\n${hidden}`),
    refused("two lengths in a list", `Content-Length: ${hidden.length}, 0\r\n\r\n${hidden}`),
    refused("a length with a sign", `Content-Length: +${hidden.length}\r\n\r\n${hidden}`),
    refused("a negative length", `Content-Length: -1\r\n\r\n${hidden}`),
    refused("a length that is hexadecimal", `Content-Length: 0x${hidden.length.toString(16)}\r\n\r\n${hidden}`),
    refused("a length of two words", `Content-Length: 0 ${hidden.length}\r\n\r\n${hidden}`),
    refused("a length that overflows", `Content-Length: 18446744073709551616\r\n\r\n${hidden}`),
    refused("a space before the colon of the length", `Content-Length : 0\r\n\r\n${hidden}`),
    refused("a space before the colon of the chunks", `Transfer-Encoding : chunked\r\n\r\n${chunked(hidden)}`),
    refused("chunks under another name", `Transfer-Encoding: xchunked\r\n\r\n${chunked(hidden)}`),
    refused("chunks that are not last", `Transfer-Encoding: chunked, identity\r\n\r\n${chunked(hidden)}`),
    refused("chunks in quotes", `Transfer-Encoding: "chunked"\r\n\r\n${chunked(hidden)}`),
    refused("chunks on a folded line", `Transfer-Encoding:\r\n chunked\r\n\r\n${chunked(hidden)}`),
    refused("a folded header", `X-A: b\r\n ${length}\r\n\r\n${hidden}`),
    refused("a folded header first", ` X-A: b\r\n\r\n${hidden}`),
    refused("a bare CR in a header", `X-A: b\rContent-Length: 0\r\n\r\n${hidden}`),
    refused("a bare LF in a header", `X-A: b\nContent-Length: 0\r\n\r\n${hidden}`),
    refused("bare LF as line ends", `${length}\n\n${hidden}`),
    refused("a zero byte in a header", `X-A: b\0c\r\n\r\n${hidden}`),
    refused("a zero byte in a header's name", `Content-Length\0: 0\r\n\r\n${hidden}`),
    refused("a header without a colon", `Content-Length\r\n\r\n${hidden}`),
    refused("a chunk's size ends with a bare LF", `${te}\r\n\r\n${hidden.length.toString(16)}\n${hidden}\r\n0\r\n\r\n`),
    refused("a chunk's size ends with a bare CR", `${te}\r\n\r\n${hidden.length.toString(16)}\r${hidden}\r\n0\r\n\r\n`),
    refused("a chunk's size has a prefix", `${te}\r\n\r\n0x${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`),
    refused("a negative chunk", `${te}\r\n\r\n-1\r\n${hidden}\r\n0\r\n\r\n`),
    refused("a chunk's size overflows", `${te}\r\n\r\n10000000000000000\r\n${hidden}\r\n0\r\n\r\n`),
    refused("a chunk longer than it says", `${te}\r\n\r\n1\r\n${hidden}\r\n0\r\n\r\n`),
    refused("a bare LF in a chunk's extension", `${te}\r\n\r\n2;a\nb\r\nxy\r\n0\r\n\r\n${hidden}`),
  ]
}

/** Sends bytes unchanged. @returns all bytes received until the other side closes */
export async function sendRaw(to: number | string, bytes: string): Promise<string> {
  const socket = typeof to === "number" ? connect(to, "127.0.0.1") : connect(to)
  const chunks: Buffer[] = []
  socket.on("data", (chunk) => chunks.push(chunk))
  const closed = once(socket, "close")
  socket.write(bytes, "latin1")
  await closed
  return Buffer.concat(chunks).toString("latin1")
}

export interface SeenRequest {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: NodeJS.Dict<string[]>
  readonly body: string
}

export interface Target extends AsyncDisposable {
  readonly server: Server
  /** Complete requests, in the order in which they ended. */
  readonly seen: SeenRequest[]
  /** Node's error codes for received bytes that are not HTTP. */
  readonly garbage: string[]
}

/** The hop after the tested one: it records everything that it parses as a request. */
export async function startTarget(socketPath: string): Promise<Target> {
  const seen: SeenRequest[] = []
  const garbage: string[] = []
  const server = createServer((request, response) => {
    const { method, url, headersDistinct: headers } = request
    const chunks: Buffer[] = []
    request.on("data", (chunk) => chunks.push(chunk)).on("error", () => undefined)
    request.once("end", () => {
      seen.push({ method, url, headers, body: Buffer.concat(chunks).toString("latin1") })
      response.end("{}")
    })
  })
  server.on("clientError", ({ code = "" }: NodeJS.ErrnoException, socket) => {
    // The tested hop has aborted a request whose body turned out to be malformed.
    if (code !== "ECONNRESET" && code !== "HPE_INVALID_EOF_STATE") garbage.push(code)
    socket.destroy()
  })
  server.listen(socketPath)
  await once(server, "listening")
  const dispose = async () => {
    const closed = once(server, "close")
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { server, seen, garbage, [Symbol.asyncDispose]: dispose }
}

/**
 * Compares the result of a hostile request with the table, and clears the target's records.
 * @param reply  what the sender received
 */
export function checkHostile(
  { name, method, body }: HostileRequest,
  reply: string,
  target: Pick<Target, "seen" | "garbage">,
  { dropsBodyOf = [] as readonly string[] } = {},
): void {
  const seen = target.seen.splice(0)
  const answers = reply.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "").match(/HTTP\/1\.1 \d+/g)
  assert.deepEqual(target.garbage, [], `${name}: the target received bytes that are not a request`)
  assert.deepEqual(answers, [body === undefined ? "HTTP/1.1 400" : "HTTP/1.1 200"], name)
  const passed = seen.map((one) => ({ method: one.method, body: one.body }))
  const expected = { method, body: dropsBodyOf.includes(method) ? "" : body }
  assert.deepEqual(passed, body === undefined ? [] : [expected], name)
  const own = seen.flatMap(({ headers }) => [headers["content-length"], headers["transfer-encoding"]]).filter(Boolean)
  assert.ok(own.length <= 1 && (own[0]?.length ?? 1) === 1, `${name}: framed twice`)
}
