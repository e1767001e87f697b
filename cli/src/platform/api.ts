/** Client of the control plane's HTTP API: any CI job could send the same requests. */
import type { ErrorCode } from "@superstep/toolkit/errors/codes"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { createParser } from "eventsource-parser"
import type { Connection } from "./connection.js"

/** Its code is that of the reply, where the reply is the platform's own. */
export class PlatformRefused extends KnownError {
  readonly code: ErrorCode
  readonly status: number
  constructor(
    message: string,
    { status, code = "platform_refused" }: { status: number; code?: ErrorCode | undefined },
  ) {
    super(message)
    this.status = status
    this.code = code
  }
}

export class PlatformAway extends KnownError {
  readonly code = "platform_away"
}

/** Whether the platform is away for a while, as in a restart: it does not answer, or a proxy before it does, or it is not ready. */
export const isAway = (error: unknown): boolean =>
  error instanceof PlatformAway || (error instanceof PlatformRefused && [502, 503, 504].includes(error.status))

export interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface ServerEvent {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: string
}

export interface PlatformApi {
  readonly url: string
  /**
   * @returns  the reply's JSON; undefined for an empty one
   * @throws PlatformRefused  with the platform's own message; PlatformAway  when there is no answer
   */
  send<T>(method: string, path: string, sent?: Sent): Promise<T>
  /** Server-sent events from now on, until the signal or the platform ends them. */
  events(path: string, options: { lastEventId?: string | undefined; signal: AbortSignal }): AsyncIterable<ServerEvent>
}

export function platformApi({ url, apiKey, workspaceId }: Connection): PlatformApi {
  const identity = { "x-api-key": apiKey, ...(workspaceId !== undefined && { "x-tenant-id": workspaceId }) }
  const call = async (method: string, path: string, init: RequestInit): Promise<Response> => {
    // To another host, a redirect would take the key along.
    const response = await fetch(`${url}${path}`, { method, redirect: "manual", ...init }).catch((error: unknown) => {
      if (init.signal?.aborted) throw error
      throw new PlatformAway(`no platform answers at ${url} (${reasonOf(error)}): ${hintFor(reasonOf(error))}`)
    })
    if (response.status >= 300 && response.status < 400) {
      const target = response.headers.get("location")
      throw new PlatformAway(`${url} redirects to ${target}: give the address where it leads, with --url`)
    }
    if (!response.ok) throw await refusalOf(response, url)
    return response
  }
  return {
    url,
    async send<T>(method: string, path: string, { body, headers }: Sent = {}) {
      const json = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await call(method, path, {
        ...json,
        headers: { ...identity, "content-type": "application/json", ...headers },
      })
      const text = await response.text().catch((error: unknown) => {
        throw new PlatformAway(`the answer of ${url} broke off (${reasonOf(error)}): run the command again`)
      })
      return (text === "" ? undefined : JSON.parse(text)) as T
    },
    async *events(path, { lastEventId, signal }) {
      const since = lastEventId === undefined ? {} : { "last-event-id": lastEventId }
      const response = await call("GET", path, {
        headers: { ...identity, accept: "text/event-stream", ...since },
        signal,
      })
      const waiting: ServerEvent[] = []
      const parser = createParser({ onEvent: ({ id, event, data }) => waiting.push({ id, event, data }) })
      const decoder = new TextDecoder()
      for await (const bytes of response.body ?? []) {
        parser.feed(decoder.decode(bytes, { stream: true }))
        yield* waiting.splice(0)
      }
    },
  }
}

async function refusalOf(response: Response, url: string): Promise<PlatformRefused> {
  const text = await response.text()
  const { detail, code, doc_url } = refusalIn(text)
  // A proxy in between may have codes of its own.
  const isOurs = typeof doc_url === "string"
  return new PlatformRefused(sentenceOf(response, { url, text, detail }), {
    status: response.status,
    code: isOurs ? code : undefined,
  })
}

/** The platform's own message where there is one (`detail`, in FastAPI's two forms). */
function sentenceOf(response: Response, { url, text, detail }: { url: string; text: string; detail: unknown }): string {
  if (response.status === 401)
    return `${url} rejects this API key: set a valid one in SUPERSTEP_API_KEY, or run the command where the platform's data folder is`
  if (typeof detail === "string") return `${detail} (${response.status})`
  if (Array.isArray(detail)) {
    const problems = detail.map(
      ({ loc = [], msg = "" }: { loc?: string[]; msg?: string }) => `${loc.slice(1).join(".")}: ${msg}`,
    )
    return `${problems.join("; ")} (${response.status})`
  }
  return `${new URL(response.url).pathname} was answered with ${response.status}: ${text.slice(0, 500)}`
}

function refusalIn(text: string): { readonly detail?: unknown; readonly code?: ErrorCode; readonly doc_url?: unknown } {
  try {
    return (JSON.parse(text) as ReturnType<typeof refusalIn> | null) ?? {}
  } catch {
    // A proxy in between has its own error format, which is shown unchanged.
    return {}
  }
}

const hintFor = (reason: string): string =>
  /CERT|SIGN|UNABLE_TO_/.test(reason)
    ? "its certificate is not trusted here. Set NODE_EXTRA_CA_CERTS to the file of its CA"
    : "start it with superstep up, or give another address with --url"

const reasonOf = (error: unknown): string => {
  const { cause, message } = error as Error
  const { code } = (cause ?? {}) as { code?: string }
  return code ?? (cause instanceof Error ? cause.message : message)
}
