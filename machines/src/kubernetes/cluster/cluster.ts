/** Requests to a Kubernetes API server. Objects are JSON; paths are those of the API reference, below the server's address. */
import type { IncomingMessage } from "node:http"
import { Agent, request } from "node:https"
import { buffer } from "node:stream/consumers"
import type { Secret } from "@superstep/toolkit/config/settings"
import { KnownError } from "@superstep/toolkit/errors/errors"

/** The API server refuses a request, or does not answer. */
export class ClusterFailed extends KnownError {
  readonly code = "cluster_failed"
  /** Undefined when there was no answer. */
  readonly status: number | undefined
  constructor(message: string, status?: number, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

export interface TokenSource {
  /** Asked for each request, since tokens expire. @throws ClusterFailed */
  readonly token?: (() => Promise<Secret>) | undefined
  /** The API server refused this token. */
  readonly refused?: (token: Secret) => void
}

export interface ClusterAccess extends TokenSource {
  /** Such as `https://10.96.0.1:443`. */
  readonly origin: string
  /** Certificates that the server's is checked with; undefined for those of this system. */
  readonly authority: string | undefined
  /** Shown to the server, in the place of a token or beside it. */
  readonly client?: { readonly certificate: string; readonly key: Secret } | undefined
}

export interface ClusterRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly contentType?: string
  /** Statuses that are an answer besides those from 200 to 299. */
  readonly also?: readonly number[]
  /** How long until the answer begins, in milliseconds, including the wait for a token. */
  readonly answerMs?: number
  /** Who gives one may wait for long between bytes, as for the lines of a log. */
  readonly signal?: AbortSignal
  /** How long between bytes of the answer, in milliseconds; with a signal, and without this, for ever. */
  readonly silentMs?: number | undefined
}

export interface Cluster {
  readonly origin: string
  /** @throws ClusterFailed */
  json<T>(path: string, request?: ClusterRequest): Promise<{ readonly status: number; readonly body: T }>
  /** A whole answer. @throws ClusterFailed  also when it breaks off */
  text(path: string, request?: ClusterRequest): Promise<string>
  /** The bytes of an answer, which may go on for long. @throws ClusterFailed */
  stream(path: string, request?: ClusterRequest): Promise<IncomingMessage>
}

// The server itself ends a request after a minute.
const limitMs = 70_000

export function clusterAt({ origin, authority, client, token, refused }: ClusterAccess): Cluster {
  const agent = new Agent({
    keepAlive: true,
    maxFreeSockets: 4,
    ...(authority !== undefined && { ca: authority }),
    ...(client && { cert: client.certificate, key: client.key.reveal() }),
  })

  const send = async (path: string, asked: ClusterRequest): Promise<IncomingMessage> => {
    const { method = "GET", query = {}, body, contentType = "application/json", answerMs = limitMs, signal } = asked
    const { silentMs = signal ? undefined : limitMs } = asked
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const url = new URL(path, origin)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const startedAt = performance.now()
    const shown = await (token && inTime(token, { ms: answerMs, signal, origin }))
    const restMs = Math.max(0, answerMs - (performance.now() - startedAt))
    const headers = {
      ...(shown && { authorization: `Bearer ${shown.reveal()}` }),
      accept: "application/json, */*",
      ...(content && { "content-type": contentType, "content-length": content.length }),
    }
    return new Promise((resolve, reject) => {
      const fail = (cause: Error) => {
        if (signal?.aborted) return reject(signal.reason)
        const words = `the API server does not answer at ${origin} (${cause.message}): check that it runs, and the network`
        reject(new ClusterFailed(words, undefined, { cause }))
      }
      const endAfter = (ms: number) => () => sent.destroy(new Error(`silent for ${ms} ms`))
      const timer = setTimeout(endAfter(answerMs), restMs)
      const sent = request(url, { method, headers, agent, ...(signal && { signal }) }, (response) => {
        clearTimeout(timer)
        if (shown && response.statusCode === 401) refused?.(shown)
        if (silentMs !== undefined) sent.setTimeout(silentMs, endAfter(silentMs))
        resolve(response)
      })
      sent.on("error", (cause) => {
        clearTimeout(timer)
        fail(cause)
      })
      sent.end(content)
    })
  }
  const stream: Cluster["stream"] = async (path, asked = {}) => {
    const response = await send(path, asked)
    const status = response.statusCode ?? 0
    if ((status >= 200 && status < 300) || asked.also?.includes(status)) return response
    const why = messageOf(await textOf(response))
    throw new ClusterFailed(`${asked.method ?? "GET"} ${path} is refused by the API server (${status}): ${why}`, status)
  }
  const textOf = async (response: IncomingMessage): Promise<string> => {
    try {
      return (await buffer(response)).toString()
    } catch (cause) {
      throw new ClusterFailed(`the answer of the API server at ${origin} broke off`, undefined, { cause })
    }
  }
  return {
    origin,
    stream,
    text: async (path, asked) => textOf(await stream(path, asked)),
    json: async <T>(path: string, asked: ClusterRequest = {}) => {
      const response = await stream(path, asked)
      const text = await textOf(response)
      const isJson = response.headers["content-type"]?.startsWith("application/json") === true
      return { status: response.statusCode ?? 0, body: (isJson ? JSON.parse(text) : undefined) as T }
    },
  }
}

interface TokenLimit {
  readonly ms: number
  readonly signal: AbortSignal | undefined
  readonly origin: string
}

/** The token may come later: then it is for the next request. @throws ClusterFailed, or the reason of the signal */
function inTime(token: () => Promise<Secret>, { ms, signal, origin }: TokenLimit): Promise<Secret> {
  signal?.throwIfAborted()
  const over = new AbortController()
  const ended = new Promise<never>((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true, signal: over.signal })
    const why = `there is no token for the API server at ${origin} within ${ms} ms: check what gives it`
    const timer = setTimeout(() => reject(new ClusterFailed(why)), ms)
    over.signal.addEventListener("abort", () => clearTimeout(timer))
  })
  return Promise.race([token(), ended]).finally(() => over.abort())
}

/** The server answers with a Status object; a proxy before it with anything. Pure. */
function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text.slice(0, 500)
  } catch {
    return text.slice(0, 500)
  }
}
