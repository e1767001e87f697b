/** Requests to a container engine over its Unix socket. Paths have no version, so the engine answers in its own; we use what all have had since 1.41. */
import { Agent, type IncomingMessage, request } from "node:http"
import { Readable } from "node:stream"
import { buffer } from "node:stream/consumers"
import { pipeline } from "node:stream/promises"
import type { Secret } from "@superstep/toolkit/config/settings"
import { KnownError } from "@superstep/toolkit/errors/errors"

/** The engine refuses a request, or does not answer. */
export class EngineFailed extends KnownError {
  readonly code = "engine_failed"
  /** Undefined when there was no answer. */
  readonly status: number | undefined
  constructor(message: string, status?: number, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

export interface EngineRequest {
  readonly method?: "GET" | "POST" | "DELETE"
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as an archive instead. */
  readonly archive?: AsyncIterable<Uint8Array>
  /** For the registry that the engine asks: the value of `X-Registry-Auth`. */
  readonly registryAuth?: Secret | undefined
  /** Statuses that are an answer besides those from 200 to 399. */
  readonly also?: readonly number[]
  /** How long the engine may send and take nothing, in milliseconds; 60 s by default, 0 for any time. */
  readonly silenceMs?: number
  readonly signal?: AbortSignal
}

export interface Reply<T> {
  readonly status: number
  readonly body: T
}

export interface Engine {
  readonly socketPath: string
  /** @throws EngineFailed */
  json<T>(path: string, request?: EngineRequest): Promise<Reply<T>>
  /** The bytes of an answer. @throws EngineFailed */
  stream(path: string, request?: EngineRequest): Promise<IncomingMessage>
}

export function engineAt(socketPath: string): Engine {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 4 })

  const send = (path: string, asked: EngineRequest): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const { method = "GET", query = {}, body, archive, registryAuth, silenceMs = usualSilenceMs, signal } = asked
      const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      const sent = request({
        socketPath,
        agent,
        method,
        path: `${path}${Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ""}`,
        timeout: silenceMs,
        headers: {
          host: "engine",
          ...(content && { "content-type": "application/json", "content-length": content.length }),
          ...(archive && { "content-type": "application/x-tar" }),
          ...(registryAuth && { "x-registry-auth": registryAuth.reveal() }),
        },
        ...(signal && { signal }),
      })
      const failed = (cause: Error): Error => {
        if (signal?.aborted) return signal.reason as Error
        if (cause instanceof EngineFailed) return cause
        return new EngineFailed(unreachable(socketPath, cause), undefined, { cause })
      }
      let response: IncomingMessage | undefined
      sent.once("response", (found) => {
        response = found
        resolve(found)
      })
      sent.once("timeout", () => {
        const seconds = silenceMs / 1000
        const why = new EngineFailed(
          `the engine at ${socketPath} was silent for ${seconds} s during ${method} ${path}: look at its log, or restart it`,
        )
        response?.destroy(why)
        sent.destroy(why)
      })
      sent.on("error", (cause) => reject(failed(cause)))
      // A failure is an error of the request as well.
      if (archive) pipeline(Readable.from(archive), sent).catch(() => undefined)
      else sent.end(content)
    })

  const checked = async (path: string, asked: EngineRequest): Promise<IncomingMessage> => {
    const response = await send(path, asked)
    const status = response.statusCode ?? 0
    if ((status >= 200 && status < 400) || asked.also?.includes(status)) return response
    const text = (await bytesOf(response)).toString()
    throw new EngineFailed(
      `${asked.method ?? "GET"} ${path} is refused by the engine (${status}): ${messageOf(text)}`,
      status,
    )
  }
  return {
    socketPath,
    stream: (path, asked = {}) => checked(path, asked),
    json: async <T>(path: string, asked: EngineRequest = {}) => {
      const response = await checked(path, asked)
      const text = (await bytesOf(response)).toString()
      return { status: response.statusCode ?? 0, body: (isJson(response) ? parsed(path, text) : undefined) as T }
    },
  }
}

// A busy engine answers after seconds; one that hangs never does.
const usualSilenceMs = 60_000

/** For requests that fetch, export or load an image, which an engine may do without a word. */
export const imageSilenceMs = 15 * 60_000

/** Why no answer came, and what helps. Pure. */
function unreachable(socketPath: string, cause: NodeJS.ErrnoException): string {
  if (cause.code === "EACCES" || cause.code === "EPERM")
    return `this user may not use the engine at ${socketPath}: add the user to the socket's group (docker), or run as root`
  if (cause.code === "ENOENT" || cause.code === "ECONNREFUSED")
    return `no engine answers at ${socketPath} (${cause.code}): start it, or set SUPERSTEP_DOCKER_SOCKET to its socket`
  return `the connection to the engine at ${socketPath} broke (${cause.message}): look at its log`
}

/** @throws EngineFailed  the engine ended, or was silent for too long, before all had come */
export const bytesOf = (response: AsyncIterable<Buffer>): Promise<Buffer> => buffer(untilBroken(response))

/** The bytes of an answer as they come. @throws EngineFailed  as `bytesOf` */
export async function* untilBroken(response: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  try {
    yield* response
    return undefined
  } catch (cause) {
    if (cause instanceof EngineFailed) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new EngineFailed(`the engine's answer broke off (${why}): look at its log`, undefined, { cause })
  }
}

function parsed(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new EngineFailed(`what answers ${path} is no container engine: ${text.slice(0, 200)}`, undefined, { cause })
  }
}

const isJson = ({ headers }: IncomingMessage): boolean =>
  headers["content-type"]?.startsWith("application/json") === true

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text
  } catch {
    return text.slice(0, 500)
  }
}

/**
 * Reads an answer that reports progress. An engine answers 200 before it starts, and reports a failure in a line.
 * @throws EngineFailed
 */
export async function untilDone(response: IncomingMessage): Promise<void> {
  const lines = (await bytesOf(response))
    .toString()
    .split(/\r?\n/)
    .filter((line) => line.startsWith("{"))
  const parsed = lines.map((line) => JSON.parse(line) as { error?: string })
  const failed = parsed.find(({ error }) => error !== undefined)
  if (failed) throw new EngineFailed(failed.error ?? "")
}
