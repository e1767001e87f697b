/**
 * HTTP over a Unix socket with the interface of `fetch`, streaming in both directions: between an agent server and the process
 * of its project's HTTP app. Node's own `fetch` cannot connect to a Unix socket.
 */
import { type Duplex, PassThrough, Readable, type Writable } from "node:stream"
import { answerHeadersOnward, requestHeadersOnward } from "./end-to-end.js"
import { type ForwardedRequest, forward, oneConnection } from "./forward.js"

export interface SocketRequest {
  readonly socketPath: string
  readonly method: string
  /** With the query. */
  readonly path: string
  /** As received. Headers of one connection, and those that frame the received body, are not forwarded. */
  readonly headers: Headers
  readonly body: Uint8Array | ReadableStream | null
  /** The number of bytes of a streamed body, if known. */
  readonly length?: number | undefined
  /** Aborts the request, and the response that is being read. */
  readonly signal?: AbortSignal | undefined
  /** Asks for a WebSocket. Called when the other side has opened it, instead of the response's head: the result is empty then. */
  readonly onUpgrade?: ((headers: string[], socket: Duplex) => void) | undefined
}

// Statuses without a body; `Response` does not accept a body for them.
const bodiless = new Set([204, 205, 304])

/** @throws  the connection's error: no process listens there, or the connection broke */
export function fetchOverSocket({
  socketPath,
  body,
  length,
  onUpgrade: opened,
  ...asked
}: SocketRequest): Promise<Response> {
  const request: ForwardedRequest = {
    ...asked,
    headers: requestHeadersOnward([...asked.headers].flat()),
    body: body instanceof ReadableStream ? { source: readable(body), length } : body,
    ...(opened && { upgrade: "websocket" as const }),
  }
  const connection = oneConnection(socketPath)
  return new Promise<Response>((resolve, reject) => {
    const onAnswer = (status: number, headers: string[]) => {
      const { response, sink } = replyOf(asked.method, status, headers)
      resolve(response)
      return sink
    }
    const onUpgrade = (_: number, headers: string[], socket: Duplex) => {
      opened?.(answerHeadersOnward(headers), socket)
      resolve(new Response(null))
    }
    // A failure after the head becomes an error of the response's body.
    forward(connection, request, { onAnswer, onUpgrade }).catch(reject)
    void connection.close()
  })
}

function readable(body: ReadableStream): Readable {
  const source = Readable.fromWeb(body as never)
  // Errors of the body fail the request, or come after the response. An error event without a listener would end the process.
  return source.on("error", () => undefined)
}

function replyOf(method: string, status: number, raw: string[]): { response: Response; sink: Writable } {
  const sink = new PassThrough()
  const headers = new Headers()
  const passing = answerHeadersOnward(raw)
  for (let at = 0; at < passing.length; at += 2) headers.append(passing[at] ?? "", passing[at + 1] ?? "")
  const hasBody = !bodiless.has(status) && method !== "HEAD"
  if (!hasBody) sink.resume()
  return { response: new Response(hasBody ? webStreamOf(sink) : null, { status, headers }), sink }
}

/**
 * `Readable.toWeb` for bytes. That one throws outside of any call, and so ends the process, when its reader leaves in the tick in which the
 * first bytes come (Node 20 and 24).
 */
export function webStreamOf(source: Readable): ReadableStream<Uint8Array> {
  const chunks = source.iterator()
  // The iterator tells an error to its reader; until then, and after it, there is no listener.
  source.on("error", () => undefined)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => void source.destroy(),
    },
    { highWaterMark: 0 },
  )
}
