/** Requests to one registry: with credentials when it asks for them, and again after a failure that may pass. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Secret } from "@superstep/toolkit/config/settings"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import { basicHeader, type Credentials, parseChallenge, tokenHeader } from "./credentials.js"
import { startOf } from "./document.js"
import { mayPass, RegistryFailed, unanswered } from "./failures.js"

export interface RegistryOptions {
  /** Such as `https://images.example.com`. */
  readonly origin: string
  /** Asked when the registry wants credentials, and again when it no longer accepts them. */
  readonly login?: (() => Promise<Credentials | undefined>) | undefined
  /** How long to wait before each further try, in milliseconds. */
  readonly delaysMs?: readonly number[]
}

export interface Registry {
  readonly origin: string
  /**
   * @param path  below the origin, or a whole address that the registry has given
   * @returns     a reply with one of these statuses
   * @throws RegistryFailed, Unauthenticated
   */
  ask(path: string, request: RegistryRequest): Promise<Response>
  /** `ask` once: for requests that must not be repeated as they are. */
  askOnce(path: string, request: RegistryRequest): Promise<Response>
  /** Pauses before further tries of a caller, in milliseconds. */
  readonly delaysMs: readonly number[]
}

export interface RegistryRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
  /** Statuses that are an answer. Others are errors. */
  readonly expect: readonly number[]
}

const defaultDelaysMs = [500, 2000, 5000, 10_000]
// Until the answer begins. A chunk of an upload on a slow line takes a minute. Of an answer that has begun `fetch` gives up after as long a silence.
const limitMs = 300_000

export function registryAt({ origin, login, delaysMs = defaultDelaysMs }: RegistryOptions): Registry {
  // The header of the last answer to a challenge: most requests of a push need the same.
  let authorization: Secret | undefined

  const send = async (url: URL, { method = "GET", headers = {}, body }: RegistryRequest): Promise<Response> => {
    const silence = new AbortController()
    const timer = setTimeout(() => silence.abort(new Error(`silent for ${limitMs} ms`)), limitMs)
    try {
      return await fetch(url, {
        method,
        // A layer may be stored elsewhere, where our credentials are not to be sent; `fetch` drops them there.
        headers: {
          ...headers,
          ...(authorization && url.origin === origin && { authorization: authorization.reveal() }),
        },
        signal: silence.signal,
        ...(body && { body }),
      })
    } catch (cause) {
      throw unanswered(url.host, cause)
    } finally {
      clearTimeout(timer)
    }
  }

  const askOnce: Registry["askOnce"] = async (path, request) => {
    const url = new URL(path, origin)
    let response = await send(url, request)
    if (response.status === 401) {
      await response.body?.cancel()
      authorization = await headerFor(response, await login?.(), url.host)
      response = await send(url, request)
    }
    if (request.expect.includes(response.status)) return response
    const text = await startOf(response)
    if (response.status === 401 || response.status === 403)
      throw new Unauthenticated(`${url.host} refuses these credentials (${response.status}): ${text}`)
    throw new RegistryFailed(
      `${url.host} answers ${response.status} to ${request.method ?? "GET"} ${url.pathname}: ${text}`,
      response.status,
    )
  }
  const ask: Registry["ask"] = async (path, request) => {
    for (const delayMs of delaysMs) {
      try {
        return await askOnce(path, request)
      } catch (error) {
        if (!mayPass(error)) throw error
        await sleep(delayMs)
      }
    }
    return askOnce(path, request)
  }
  return { origin, ask, askOnce, delaysMs }
}

async function headerFor(response: Response, credentials: Credentials | undefined, host: string): Promise<Secret> {
  const challenge = parseChallenge(response.headers.get("www-authenticate") ?? "")
  if (challenge?.scheme === "bearer") return tokenHeader(challenge, credentials)
  if (challenge?.scheme === "basic" && credentials) return basicHeader(credentials)
  throw new Unauthenticated(`${host} asks for a user and a password, and there are none for it`)
}
