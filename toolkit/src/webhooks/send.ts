/** One call of somebody's address: guarded, in limited time, without redirects, and with a bounded reply. */
import { lookup } from "node:dns"
import { request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import type { LookupFunction } from "node:net"

/** Says why an IP address may not be connected to; undefined when it may. */
export type AddressGuard = (address: string) => string | undefined

export interface Call {
  /** Its text was judged before: only the addresses that a name leads to are judged here. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly guard: AddressGuard
  /** For the whole call, in milliseconds. */
  readonly timeoutMs: number
  /** Ends it early. */
  readonly signal: AbortSignal
}

/** What came of a call: what the receiver answered, or why it did not. */
export interface CallResult {
  readonly status?: number
  /** The beginning of what it said. */
  readonly reply?: string
  readonly error?: string
}

/** Enough to see what the receiver wants to tell; the rest is not read. */
export const mostReplyBytes = 4096

/** POSTs to a host, following nothing. @returns never rejects: what went wrong is the result */
export function callHost(call: Call): Promise<CallResult> {
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(call.timeoutMs)])
  return new Promise((resolve) => {
    const send = call.url.startsWith("https:") ? requestHttps : requestHttp
    // A connection of its own: one that is kept was checked for another call's host.
    const options = { method: "POST", headers: call.headers, agent: false, lookup: guardedLookup(call.guard), signal }
    // The status is the answer, also when the rest of it never comes.
    let settleAnswered: (() => void) | undefined
    const request = send(call.url, options, (response) => {
      const status = response.statusCode ?? 0
      const chunks: Buffer[] = []
      let size = 0
      const settle = () => {
        resolve({ status, reply: textOf(Buffer.concat(chunks)) })
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
    // An answer that asks for another protocol (101) is neither a response nor an error to Node; after them this says nothing.
    request.on("close", () => resolve({ error: "it closed the connection without an answer" }))
    request.end(call.body)
  })
}

/**
 * Name resolution that hands on only addresses that may be connected to. It is asked for the very connection that is
 * made, so a name that changes its address between a check and the call gains nothing.
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
  return `${hostname} leads nowhere a webhook may go${problem === undefined ? "" : `: ${problem}`}`
}

/** Why a call came to nothing, in words. */
export function reasonOf(
  error: Error & { code?: string },
  { signal, timeoutMs }: Pick<Call, "signal" | "timeoutMs">,
): string {
  if (signal.aborted) return "the server was stopped"
  if (error.name === "TimeoutError" || error.name === "AbortError") return `no answer within ${timeoutMs / 1000} s`
  return error.message || (error.code ?? error.name)
}

/** The beginning of what was said, as a text that Postgres can keep. */
export const textOf = (bytes: Buffer): string =>
  bytes.subarray(0, mostReplyBytes).toString("utf8").replaceAll("\u0000", "\ufffd")
