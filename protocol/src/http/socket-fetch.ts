/**
 * HTTP over a Unix socket in the shape of `fetch`, streaming both ways: between an agent server and the process of its
 * project's HTTP app. Node's own `fetch` cannot reach a socket file. Each request has a connection of its own: to a
 * socket file that is cheap, and it can never be one that the other side is about to close.
 */
import { request as httpRequest, type IncomingMessage } from "node:http"
import { pipeline, Readable } from "node:stream"

export interface SocketRequest {
  readonly socketPath: string
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: Headers
  readonly body: Uint8Array | ReadableStream | null
  /** When it fires, the request ends, and so does the reply that is being read. */
  readonly signal?: AbortSignal
}

// They tell of one connection, not of the request (RFC 9110 §7.6.1); `expect` asks for an answer of this hop.
const ofOneHop = [
  "connection",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]

// Replies that have no body, for which `Response` takes none.
const bodiless = new Set([204, 205, 304])

/** @throws  what the connection says: nobody listens there, or it broke */
export function fetchOverSocket({ body, headers, ...target }: SocketRequest): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ ...target, headers: outgoing(headers, body), agent: false }, (reply) =>
      resolve(toResponse(reply, target.method)),
    )
    // Every one of them: a second error that nobody listens to would end the process.
    request.on("error", reject)
    if (body === null || body instanceof Uint8Array) request.end(body ?? undefined)
    // A body that breaks breaks its request; who asked is told by `error`.
    else pipeline(Readable.fromWeb(body as never), request, () => undefined)
  })
}

function outgoing(headers: Headers, body: SocketRequest["body"]): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of headers) if (!ofOneHop.includes(name)) kept[name] = value
  if (body instanceof Uint8Array) kept["content-length"] = String(body.byteLength)
  // Node ends a streamed body with one more write. A server that closes after its reply may have closed by then, and the
  // reply would be lost to EPIPE; asked to keep the connection, it leaves the closing to us.
  kept.connection = "keep-alive"
  return kept
}

function toResponse(reply: IncomingMessage, method: string): Response {
  const status = reply.statusCode ?? 502
  const headers = new Headers()
  for (let at = 0; at < reply.rawHeaders.length; at += 2) {
    const [name = "", value = ""] = reply.rawHeaders.slice(at, at + 2)
    if (!ofOneHop.includes(name.toLowerCase())) headers.append(name, value)
  }
  const hasBody = !bodiless.has(status) && method !== "HEAD"
  if (!hasBody) reply.resume()
  return new Response(hasBody ? (Readable.toWeb(reply) as ReadableStream) : null, { status, headers })
}
