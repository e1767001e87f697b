/** One call of a webhook: guarded, in limited time, without redirects, and with a bounded reply. */
import { lookup } from "node:dns"
import { request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import type { LookupFunction } from "node:net"
import { addressProblem, type UrlRules, webhookProblem } from "./url-rules.js"

export interface OwnRouteCall {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: string
  readonly signal: AbortSignal
}
export type CallOwnRoute = (call: OwnRouteCall) => Promise<Response>

export interface Call {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly rules: UrlRules
  /** Calls a route of the project's own; undefined where there is no such way. */
  readonly callOwnRoute: CallOwnRoute | undefined
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

// Enough to see what the receiver wants to tell; the rest is not read.
const mostReplyBytes = 4096

/** @returns never rejects: what went wrong is the result */
export async function callWebhook(call: Call): Promise<CallResult> {
  const problem = webhookProblem(call.rules, call.url)
  if (problem !== undefined) return { error: problem }
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(call.timeoutMs)])
  return call.url.startsWith("/") ? callRoute(call, signal) : callHost(call, signal)
}

async function callRoute(call: Call, signal: AbortSignal): Promise<CallResult> {
  const { url: path, body, callOwnRoute } = call
  if (callOwnRoute === undefined) return { error: "this server has no routes of the project's own" }
  try {
    const reply = await callOwnRoute({ method: "POST", path, headers: new Headers(call.headers), body, signal })
    return { status: reply.status, reply: textOf(await beginningOf(reply)) }
  } catch (error) {
    return { error: reasonOf(error as Error, call) }
  }
}

async function beginningOf({ body }: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop ends the reading.
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= mostReplyBytes) break
  }
  return Buffer.concat(chunks)
}

function callHost(call: Call, signal: AbortSignal): Promise<CallResult> {
  return new Promise((resolve) => {
    const send = call.url.startsWith("https:") ? requestHttps : requestHttp
    // A connection of its own: one that is kept was checked for another webhook's host.
    const options = { method: "POST", headers: call.headers, agent: false, lookup: guardedLookup(call.rules), signal }
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
 * Name resolution that hands on only addresses that a webhook may go to. It is asked for the very connection that is
 * made, so a name that changes its address between a check and the call gains nothing (W4).
 */
export const guardedLookup =
  (rules: UrlRules, resolveName = lookup as LookupFunction): LookupFunction =>
  (hostname, options, callback) => {
    resolveName(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, [])
      const addresses = typeof found === "string" ? [] : found
      const allowed = addresses.filter(({ address }) => addressProblem(rules, address) === undefined)
      const [first] = allowed
      if (first === undefined) return callback(new Error(refusal(rules, hostname, addresses)), [])
      if (options.all) return callback(null, allowed)
      callback(null, first.address, first.family)
    })
  }

function refusal(rules: UrlRules, hostname: string, [first]: readonly { address: string }[]): string {
  const problem = first && addressProblem(rules, first.address)
  return `${hostname} leads nowhere a webhook may go${problem === undefined ? "" : `: ${problem}`}`
}

function reasonOf(error: Error & { code?: string }, { signal, timeoutMs }: Call): string {
  if (signal.aborted) return "the server was stopped"
  if (error.name === "TimeoutError" || error.name === "AbortError") return `no answer within ${timeoutMs / 1000} s`
  return error.message || (error.code ?? error.name)
}

const textOf = (bytes: Buffer): string =>
  bytes.subarray(0, mostReplyBytes).toString("utf8").replaceAll("\u0000", "\ufffd")
