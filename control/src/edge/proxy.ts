/**
 * Carries one request to a unit and its answer back, without holding bytes: each side is read only as fast as the
 * other takes it, and an event goes on in the tick in which it came.
 * P1 a caller that leaves ends the unit's request; P2 an answer that breaks off breaks off for the caller too, never
 * ending as if it were whole; P3 a request stays with its unit, whatever the table becomes.
 */
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { BodyTooLarge, type ForwardedRequest, forward, NotSent } from "@superstep/protocol/http/forward"
import { openToAll, type PreflightRule, preflightHeaders } from "@superstep/toolkit/http/cross-origin"
import { type Admitted, admit } from "./admission.js"
import { callerOf } from "./caller.js"
import type { OpenExchange } from "./counters.js"
import type { Edge } from "./edge.js"
import { hasBody, isEventStream, lengthOf, requestHeaders, requestIdOf, responseHeaders } from "./headers.js"
import { isTooFast } from "./rate-limit.js"
import { reachUnit } from "./reach-unit.js"
import { brokenOff, internalError, type Refusal, tooLarge, tooManyRequests } from "./refusal.js"
import { answerForSleeper, discardRest, refuse } from "./replies.js"
import type { Route, Unit } from "./table.js"

/** One request of the world, from its head to the end of its answer. */
interface Visit {
  readonly edge: Edge
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** Called when the answer begins, once the deployment is known. */
  onAnswer: (status: number) => void
}

/** Never rejects: what fails is answered and logged. */
export async function proxyRequest(edge: Edge, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const requestId = requestIdOf(request.headersDistinct, randomUUID)
  const visit: Visit = { edge, request, response, requestId, onAnswer: () => undefined }
  try {
    await serve(visit)
  } catch (err) {
    edge.log.error({ err, request_id: requestId, method: request.method, url: request.url }, "request failed")
    giveUp(visit, internalError)
  }
}

async function serve(visit: Visit): Promise<void> {
  const { edge, request, response, requestId } = visit
  const { method = "GET", url = "/", headersDistinct: headers } = request
  const admission = admit({ method, url, headers }, edge.table, edge.config.maxBodyBytes)
  if ("refusal" in admission) return refuse(request, response, admission.refusal, requestId)

  const { route, kind } = admission
  if (kind === "preflight" && route.cors) return answerPreflight(visit, route, route.cors)
  const isUse = kind === "use"
  // Only what users wait for is counted.
  if (isUse) visit.onAnswer = edge.tallies.begin(route.deployment_id)
  if (isUse && isTooFast(edge, route)) return refuse(request, response, tooManyRequests(route), requestId)
  const gone = new AbortController()
  response.once("close", () => {
    if (!response.writableFinished) gone.abort()
    discardRest(request)
  })
  const refusal = await reachUnit(edge, {
    route,
    kind: "requests",
    isUse,
    gone: gone.signal,
    send: (unit, exchange) => carry(visit, admission, { unit, exchange, gone: gone.signal }),
  })
  if (refusal === "asleep") return answerAsleep(visit, admission)
  if (refusal) giveUp(visit, refusal)
}

// Nobody keeps it: the unit may say something else as soon as it is awake.
const untilAwake: PreflightRule = { ...openToAll, max_age_seconds: 0 }

/** A sleeping deployment is healthy. What a page may do is said by the reply to its request, once the deployment is awake. */
async function answerAsleep(visit: Visit, { route, kind }: Admitted): Promise<void> {
  if (kind === "preflight") return answerPreflight(visit, route, untilAwake)
  answerForSleeper(visit.response, route, visit.requestId)
}

async function answerPreflight({ request, response, requestId }: Visit, route: Route, rule: PreflightRule) {
  const { headersDistinct } = request
  const asked = Object.fromEntries(Object.entries(headersDistinct).map(([name, lines]) => [name, lines?.join(", ")]))
  const headers = await preflightHeaders(rule, asked)
  response.writeHead(204, { ...headers, "x-revision-id": route.revision_id, "x-request-id": requestId }).end()
  discardRest(request)
}

interface Carrier {
  readonly unit: Unit
  readonly exchange: OpenExchange
  readonly gone: AbortSignal
}

/** @throws NotSent  the unit cannot be connected to */
async function carry(visit: Visit, admitted: Admitted, { unit, exchange, gone }: Carrier): Promise<void> {
  const { edge, response, requestId } = visit
  const onAnswer = (status: number, headers: string[]) => {
    if (isEventStream(headers)) exchange.becomeStream()
    return beginAnswer(visit, status, headers)
  }
  try {
    await forward(edge.connections.to(unit), onwardRequest(visit, admitted, unit, gone), { onAnswer })
  } catch (err) {
    if (err instanceof NotSent) throw err
    if (err instanceof BodyTooLarge) return giveUp(visit, tooLarge(edge.config.maxBodyBytes))
    // Once the answer has begun, its own end tells what happened; once the caller has left, nobody asks.
    if (response.headersSent || response.destroyed) return
    edge.log.warn({ err, request_id: requestId, unit_id: unit.unit_id }, "unit broke a request off")
    giveUp(visit, brokenOff(admitted.route.name))
  }
}

/** The request as this unit gets it: its token is among the headers. */
function onwardRequest(
  { edge, request, requestId }: Visit,
  { target }: Admitted,
  { token }: Unit,
  signal: AbortSignal,
): ForwardedRequest {
  const { method = "GET", headersDistinct } = request
  const stamp = { caller: callerOf(edge, request), prefix: target.prefix, requestId, unitToken: token }
  const body = { source: request, length: lengthOf(headersDistinct), limitBytes: edge.config.maxBodyBytes }
  return {
    method,
    path: target.path,
    headers: requestHeaders(request, stamp),
    body: hasBody(headersDistinct) ? body : null,
    signal,
  }
}

/** @returns where the body of the answer goes */
function beginAnswer({ response, requestId, onAnswer }: Visit, status: number, headers: string[]): ServerResponse {
  onAnswer(status)
  response.writeHead(status, responseHeaders(headers, requestId))
  // A stream's head must not wait for its first event; but where that has come with it, both leave in one write.
  setImmediate(() => response.destroyed || response.flushHeaders())
  return response
}

/** Answers if nothing was answered yet; cuts an answer that has begun. */
function giveUp({ request, response, requestId, onAnswer }: Visit, refusal: Refusal): void {
  onAnswer(refusal.status)
  if (response.headersSent) response.destroy()
  else refuse(request, response, refusal, requestId)
}
