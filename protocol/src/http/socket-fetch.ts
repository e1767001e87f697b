/**
 * HTTP over a Unix socket in the shape of `fetch`, streaming both ways: between an agent server and the process of its
 * project's HTTP app. Node's own `fetch` cannot reach a socket file.
 */
import { PassThrough, Readable, type Writable } from "node:stream"
import { answerHeadersOnward, requestHeadersOnward } from "./end-to-end.js"
import { type ForwardedRequest, forward, oneConnection } from "./forward.js"

export interface SocketRequest {
  readonly socketPath: string
  readonly method: string
  /** With its query. */
  readonly path: string
  /** As they came; those of one hop, and the framing of the body that came with them, stay behind. */
  readonly headers: Headers
  readonly body: Uint8Array | ReadableStream | null
  /** Bytes of a streamed body, where that is known. */
  readonly length?: number | undefined
  /** When it fires, the request ends, and so does the reply that is being read. */
  readonly signal?: AbortSignal | undefined
}

// Replies that have no body, for which `Response` takes none.
const bodiless = new Set([204, 205, 304])

/** @throws  what the connection says: nobody listens there, or it broke */
export function fetchOverSocket({ socketPath, body, length, ...asked }: SocketRequest): Promise<Response> {
  const request: ForwardedRequest = {
    ...asked,
    headers: requestHeadersOnward([...asked.headers].flat()),
    body: body instanceof ReadableStream ? { source: readable(body), length } : body,
  }
  const connection = oneConnection(socketPath)
  return new Promise<Response>((resolve, reject) => {
    const onAnswer = (status: number, headers: string[]) => {
      const { response, sink } = replyOf(asked.method, status, headers)
      resolve(response)
      return sink
    }
    // A failure after the head shows in the reply's body.
    forward(connection, request, { onAnswer }).catch(reject)
    void connection.close()
  })
}

function readable(body: ReadableStream): Readable {
  const source = Readable.fromWeb(body as never)
  // Its end is the request's end, or comes when the reply is there; an error that nobody hears would end the process.
  return source.on("error", () => undefined)
}

function replyOf(method: string, status: number, raw: string[]): { response: Response; sink: Writable } {
  const sink = new PassThrough()
  const headers = new Headers()
  const passing = answerHeadersOnward(raw)
  for (let at = 0; at < passing.length; at += 2) headers.append(passing[at] ?? "", passing[at + 1] ?? "")
  const hasBody = !bodiless.has(status) && method !== "HEAD"
  if (!hasBody) sink.resume()
  const body = hasBody ? (Readable.toWeb(sink) as ReadableStream) : null
  return { response: new Response(body, { status, headers }), sink }
}
