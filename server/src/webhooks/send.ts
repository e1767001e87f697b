/** One call of a webhook: of another host, or of a route of the project's app. */
import {
  type CallResult,
  callHost,
  type Call as HostCall,
  mostReplyBytes,
  reasonOf,
  textOf,
} from "@superstep/toolkit/webhooks/send"
import { addressProblem, type UrlRules, webhookProblem } from "./url-rules.js"

export interface OwnRouteCall {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: string
  readonly signal: AbortSignal
}
export type CallOwnRoute = (call: OwnRouteCall) => Promise<Response>

export interface Call extends Omit<HostCall, "guard"> {
  readonly rules: UrlRules
  /** Calls a route of the project's app; undefined if it has none. */
  readonly callOwnRoute: CallOwnRoute | undefined
}

/** @returns the result; failures are results too, so it never rejects */
export async function callWebhook(call: Call): Promise<CallResult> {
  const problem = webhookProblem(call.rules, call.url)
  if (problem !== undefined) return { error: problem }
  if (call.url.startsWith("/")) return callRoute(call)
  return callHost({ ...call, guard: (address) => addressProblem(call.rules, address) })
}

async function callRoute(call: Call): Promise<CallResult> {
  const { url: path, body, callOwnRoute } = call
  if (callOwnRoute === undefined) return { error: "the project has no http.app, so a path cannot be called" }
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(call.timeoutMs)])
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
  // Leaving the loop cancels the body.
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= mostReplyBytes) break
  }
  return Buffer.concat(chunks)
}
