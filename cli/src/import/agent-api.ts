/**
 * Client of an agent server's public API, ours or another one's. Numbers keep their text (decision 57), which the official SDKs do not do.
 * A server that is busy, restarts or cannot be reached is asked again, for two minutes after the first failure of a request.
 */
import { randomUUID } from "node:crypto"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { pause } from "@superstep/toolkit/exec/pause"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { withoutEnd } from "@superstep/toolkit/text/without-end"

/** The server understood the request and refuses it. */
export class AgentRefused extends KnownError {
  readonly code = "import_refused"
  readonly status: number
  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** No answer, or none that can be used, for `giveUpMs`. */
export class AgentAway extends KnownError {
  readonly code = "import_away"
}

/** No request can be sent to the address, so a retry cannot help. */
export class InvalidAddress extends KnownError {
  readonly code = "import_refused"
}

export interface AgentApi {
  /** Without a slash at its end. */
  readonly url: string
  /**
   * @returns  the reply's JSON, with exact numbers; undefined for an empty one
   * @throws AgentRefused  for a status that says so
   * @throws AgentAway
   * @throws InvalidAddress  its port is one that `fetch` blocks
   */
  // biome-ignore lint/suspicious/noExplicitAny: as of JSON.parse
  send(method: string, path: string, body?: unknown): Promise<any>
  /**
   * The same for a request that makes something without an id of the caller's: if the reply to the first try is lost, the second one must not
   * make it twice. Both have the same `Idempotency-Key`, which our servers know.
   */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  sendOnce(method: string, path: string, body: unknown): Promise<any>
}

export interface AgentAddress {
  readonly url: string
  /** What gave the address, for messages: `--from`. */
  readonly option: string
  readonly headers: Readonly<Record<string, string>>
  /** Ends every request. */
  readonly signal: AbortSignal
  /** How long a request is tried again after its first failure, in milliseconds. */
  readonly giveUpMs?: number
}

const usualGiveUpMs = 120_000
// A state is read, or a thread with many checkpoints is created, within seconds.
const answerMs = 120_000
const firstDelayMs = 250
const longestDelayMs = 10_000
// No real page of states is larger; more would not fit into memory beside the others.
const mostBytes = 256 * 1024 * 1024

/** @throws InvalidAddress  unless the address is an http or https one */
export function agentApi({ url: given, option, headers, signal, giveUpMs = usualGiveUpMs }: AgentAddress): AgentApi {
  const url = withoutEnd(given, "/")
  const problem = problemOf(given)
  if (problem !== undefined) throw new InvalidAddress(`${option}: ${problem}`)

  const once = async (method: string, path: string, body?: string, key?: string): Promise<Answer> => {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          accept: "application/json",
          "content-type": "application/json",
          ...(key && { "idempotency-key": key }),
          ...headers,
        },
        signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
        // To another host, a redirect would take the key along.
        redirect: "manual",
        ...(body !== undefined && { body }),
      })
      const target = response.headers.get("location")
      if (response.status >= 300 && response.status < 400)
        throw new AgentRefused(`${url} redirects to ${target}: give the address where it leads`, response.status)
      const text = await textOf(response, `${method} ${url}${path}`)
      return { status: response.status, text, retryAfterMs: retryAfterMs(response.headers) }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof KnownError) throw error
      const { cause, message } = error as Error
      // The list of these ports is in the fetch standard, and Node gives no access to it.
      if (cause instanceof Error && cause.message === "bad port")
        throw new InvalidAddress(
          `${option}: expected an http or https address with a port that fetch allows, not ${url}`,
        )
      return { text: cause instanceof Error ? cause.message : message, retryAfterMs: undefined }
    }
  }

  const isThere = async () => (await once("GET", "/ok")).status === 200

  const sendWithKey = async (method: string, path: string, body: unknown, key?: string): Promise<unknown> => {
    const sent = body === undefined ? undefined : toJsonText(body)
    let failedAt: number | undefined
    for (let delayMs = firstDelayMs; ; delayMs = Math.min(longestDelayMs, 2 * delayMs)) {
      const { status, text, retryAfterMs: asked } = await once(method, path, sent, key)
      if (status !== undefined && status < 300) return text === "" ? undefined : parsed(text, url, path)
      const sentence = `${url}${path}: ${status === undefined ? text : `${detailOf(text)} (${status})`}`
      if (status !== undefined && !isTransient(status)) throw new AgentRefused(sentence, status)
      failedAt ??= performance.now()
      if (performance.now() - failedAt >= giveUpMs) {
        // One thing that the server cannot answer must not end the import of the others.
        if (status !== undefined && (await isThere())) throw new AgentRefused(sentence, status)
        throw new AgentAway(sentence)
      }
      // Several requests wait: without the random part they would all come back at once.
      await pause(Math.min(giveUpMs, asked ?? delayMs * (0.5 + Math.random())), signal)
      signal.throwIfAborted()
    }
  }
  return {
    url,
    send: (method, path, body) => sendWithKey(method, path, body),
    sendOnce: (method, path, body) => sendWithKey(method, path, body, randomUUID()),
  }
}

/** Pure. */
function problemOf(url: string): string | undefined {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  // `fetch` rejects them, and the message must not show a password.
  if (parsed?.username || parsed?.password) return "expected an http or https address without a user or a password"
  return /^https?:$/.test(parsed?.protocol ?? "") ? undefined : `expected an http or https address, not ${url}`
}

interface Answer {
  /** Undefined: there was none. */
  readonly status?: number
  readonly text: string
  readonly retryAfterMs: number | undefined
}

const isTransient = (status: number): boolean => status === 408 || status === 425 || status === 429 || status >= 500

function retryAfterMs(headers: Headers): number | undefined {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined
}

async function textOf(response: Response, what: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new AgentRefused(`${what}: the answer has more than 256 MB`, 413)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

function parsed(text: string, url: string, path: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new AgentRefused(`${url}${path} answers with text that is not JSON: is this an agent server?`, 200)
  }
}

const longestDetail = 500

function detailOf(text: string): string {
  try {
    const { detail, message, error } = JSON.parse(text) as Record<string, unknown>
    const said = detail ?? message ?? error
    return (typeof said === "string" ? said : JSON.stringify(said ?? text)).slice(0, longestDetail)
  } catch {
    // A proxy in between has its own error format, which is shown unchanged.
    return text.slice(0, longestDetail)
  }
}

/** @returns  undefined for a 404 */
export async function unlessMissing<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply
  } catch (error) {
    if (error instanceof AgentRefused && error.status === 404) return undefined
    throw error
  }
}
