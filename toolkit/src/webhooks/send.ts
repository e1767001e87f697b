/** One call of a user's address: guarded, with a time limit, without redirects, and with a limited reply. */

import { lookup } from "node:dns"
import { request as requestHttp, validateHeaderValue } from "node:http"
import { request as requestHttps } from "node:https"
import type { LookupFunction } from "node:net"
import { type StorableText, storableText } from "../text/storable.js"

/** Returns why an IP address may not be connected to; undefined when it may. */
export type AddressGuard = (address: string) => string | undefined

export interface Call {
  /** Its text was checked before: here only the addresses that its name resolves to are checked. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly guard: AddressGuard
  /** Limit for the whole call, in milliseconds. */
  readonly timeoutMs: number
  /** Aborts it early. */
  readonly signal: AbortSignal
}

/** The result of a call: the receiver's answer, or why there was none. */
export interface CallResult {
  readonly status?: number
  /** The start of its body. */
  readonly reply?: StorableText
  /** How long it wants to be left alone, in milliseconds (`Retry-After`). */
  readonly askedMs?: number
  readonly error?: string
}

/** Enough to see the receiver's message; the rest is not read. */
export const mostReplyBytes = 4096

// A receiver that asks for a longer pause is asked sooner.
const longestAskedMs = 3_600_000

/**
 * The wait that a receiver asks for in `Retry-After`, as seconds or as a date (RFC 9110, 10.2.3).
 * @param now  milliseconds since 1970
 * @returns    milliseconds, an hour at most; 0 without the header, and for a date that is over or other text
 */
export function askedWaitMs(header: string | undefined, now: number): number {
  const ms = header === undefined ? 0 : /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), longestAskedMs)
}

/** Why headers cannot be sent, such as a value with characters outside of Latin-1. */
function headerProblem(headers: Call["headers"]): string | undefined {
  try {
    for (const [name, value] of Object.entries(headers)) validateHeaderValue(name, value)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** POSTs to a host, without following redirects. @returns  the result; never rejects: failures are part of the result */
export function callHost(call: Call): Promise<CallResult> {
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(call.timeoutMs)])
  return new Promise((resolve) => {
    const send = call.url.startsWith("https:") ? requestHttps : requestHttp
    // A new connection: a kept-alive one was checked for another call's host.
    const options = { method: "POST", headers: call.headers, agent: false, lookup: guardedLookup(call.guard), signal }
    // The status is the answer, even when the rest never arrives.
    let settleAnswered: (() => void) | undefined
    const refused = headerProblem(call.headers)
    if (refused !== undefined) return resolve({ error: refused })
    const request = send(call.url, options, (response) => {
      const status = response.statusCode ?? 0
      const chunks: Buffer[] = []
      let size = 0
      const settle = () => {
        const askedMs = askedWaitMs(response.headers["retry-after"], Date.now())
        resolve({ status, reply: textOf(Buffer.concat(chunks)), ...(askedMs > 0 && { askedMs }) })
        request.destroy()
      }
      settleAnswered = settle
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size >= mostReplyBytes) settle()
      })
      response.on("end", settle).on("error", settle)
    })
    request.on("error", (error) => (settleAnswered ? settleAnswered() : resolve({ error: reasonOf(error, call) })))
    // An answer with another protocol (101) is neither a response nor an error to Node; after those this has no effect.
    request.on("close", () => resolve({ error: "the receiver closed the connection without an answer" }))
    request.end(call.body)
  })
}

/**
 * Name resolution that returns only allowed addresses. It runs for the very connection that is made, so a name that changes
 * its address between a check and the call gains nothing.
 */
export const guardedLookup =
  (guard: AddressGuard, resolveName = lookup as LookupFunction): LookupFunction =>
  (hostname, options, callback) => {
    resolveName(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, [])
      const addresses = typeof found === "string" ? [] : found
      const allowed = addresses.filter(({ address }) => guard(address) === undefined)
      const [first] = allowed
      if (first === undefined) return callback(new Error(refusal(guard, hostname, addresses)), [])
      if (options.all) return callback(null, allowed)
      callback(null, first.address, first.family)
    })
  }

function refusal(guard: AddressGuard, hostname: string, [first]: readonly { address: string }[]): string {
  const problem = first && guard(first.address)
  return `${hostname} resolves to no address that may be called${problem === undefined ? "" : `: ${problem}`}`
}

/** Why a call failed, as text. */
export function reasonOf(
  error: Error & { code?: string },
  { signal, timeoutMs }: Pick<Call, "signal" | "timeoutMs">,
): string {
  if (signal.aborted) return "the server was stopped"
  if (error.name === "TimeoutError" || error.name === "AbortError") return `no answer within ${timeoutMs / 1000} s`
  return error.message || (error.code ?? error.name)
}

/** The start of a reply, as text that Postgres can store. */
export const textOf = (bytes: Buffer): StorableText =>
  storableText(bytes.toString("utf8", 0, mostReplyBytes), mostReplyBytes)
