/** Requests to a container engine over its Unix socket. Paths have no version, so the engine answers in its own; we use what all have had since 1.41. */
import { Agent, type IncomingMessage, request } from "node:http"
import { Readable } from "node:stream"
import { buffer } from "node:stream/consumers"
import { pipeline } from "node:stream/promises"
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
  /** Statuses that are an answer besides those from 200 to 399. */
  readonly also?: readonly number[]
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
      const { method = "GET", query = {}, body, archive, signal } = asked
      const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      const fail = (cause: Error) => {
        if (signal?.aborted) return reject(signal.reason)
        const remedy = "start it, or set SUPERSTEP_DOCKER_SOCKET to its socket"
        reject(
          new EngineFailed(`the engine does not answer at ${socketPath} (${cause.message}): ${remedy}`, undefined, {
            cause,
          }),
        )
      }
      const sent = request(
        {
          socketPath,
          agent,
          method,
          path: `${path}${Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ""}`,
          headers: {
            host: "engine",
            ...(content && { "content-type": "application/json", "content-length": content.length }),
            ...(archive && { "content-type": "application/x-tar" }),
          },
          ...(signal && { signal }),
        },
        resolve,
      )
      sent.on("error", fail)
      // A failure is an error of the request as well.
      if (archive) pipeline(Readable.from(archive), sent).catch(() => undefined)
      else sent.end(content)
    })

  const checked = async (path: string, asked: EngineRequest): Promise<IncomingMessage> => {
    const response = await send(path, asked)
    const status = response.statusCode ?? 0
    if ((status >= 200 && status < 400) || asked.also?.includes(status)) return response
    const text = (await buffer(response)).toString()
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
      const text = (await buffer(response)).toString()
      return { status: response.statusCode ?? 0, body: (isJson(response) ? JSON.parse(text) : undefined) as T }
    },
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
 * The lines of an answer that reports progress. An engine answers 200 before it starts, and reports a failure in a line.
 * @throws EngineFailed
 */
export async function untilDone(response: IncomingMessage): Promise<string[]> {
  const lines = (await buffer(response))
    .toString()
    .split(/\r?\n/)
    .filter((line) => line.startsWith("{"))
  const parsed = lines.map((line) => JSON.parse(line) as { error?: string; stream?: string })
  const failed = parsed.find(({ error }) => error !== undefined)
  if (failed) throw new EngineFailed(failed.error ?? "")
  return parsed.map(({ stream = "" }) => stream)
}
