/**
 * Carries one request to a unit and its answer back, without holding bytes: each side is read only as fast as the
 * other takes it, and an event is sent in the tick in which it arrives.
 * P1 when the caller leaves, the unit's request is aborted. P2 when the unit's answer breaks off, the caller's breaks off
 * too and never looks complete. P3 a request stays with its unit, whatever happens to the table's units.
 */
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import {
  BodyTooLarge,
  type ForwardedRequest,
  forward,
  hasLargeHeaders,
  NotSent,
} from "@superstep/protocol/http/forward"
import { openToAll, type PreflightRule, preflightHeaders } from "@superstep/toolkit/http/cross-origin"
import { type Admitted, admit } from "./admission.js"
import { callerOf } from "./caller.js"
import type { OpenExchange } from "./counters.js"
import { type Edge, maxHeaderBytes } from "./edge.js"
import {
  consoleRule,
  hasBody,
  isEventStream,
  lengthOf,
  requestHeaders,
  requestIdOf,
  responseHeaders,
} from "./headers.js"
import { isTooFast } from "./rate-limit.js"
import { reachUnit } from "./reach-unit.js"
import { brokenOff, internalError, largeHeaders, type Refusal, tooLarge, tooManyRequests } from "./refusal.js"
import { answerForSleeper, discardRest, refuse } from "./replies.js"
import type { Route, Unit } from "./table.js"
import { threadOf } from "./target.js"

/** One request of a caller, from its head to the end of its answer. */
interface Visit {
  readonly edge: Edge
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** Called when the answer starts, once the deployment is known. */
  onAnswer: (status: number) => void
}

/** Never rejects: failures are answered and logged. */
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
  // Before everything else, so that a page of the console can read why a request is refused.
  if (isPreflight(request) && consoleOf(visit)) return answerPreflight(visit, consoleRule)
  const admission = admit({ method, url, headers }, edge.table, edge.config.maxBodyBytes)
  if ("refusal" in admission) return refuse(request, response, admission.refusal, requestId)

  const { route, kind } = admission
  if (kind === "preflight" && route.cors) return answerPreflight(visit, route.cors, route)
  const isUse = kind === "use"
  // Only requests that users wait for are counted.
  if (isUse) visit.onAnswer = edge.tallies.begin(route.deployment_id)
  if (isUse && isTooFast(edge, route)) return refuse(request, response, tooManyRequests(route), requestId)
  const gone = new AbortController()
  response.once("close", () => {
    if (!response.writableFinished) gone.abort()
    discardRest(request)
  })
  // Broken off, not answered: the unit may have executed the request.
  if (admission.keyHash)
    response.once(
      "close",
      edge.openByKey.add(route, admission.keyHash, () => response.destroy()),
    )
  const refusal = await reachUnit(edge, {
    route,
    kind: "requests",
    threadId: threadOf(admission.target.path),
    isUse,
    gone: gone.signal,
    send: (unit, exchange) => carry(visit, admission, { unit, exchange, gone: gone.signal }),
  })
  if (refusal === "asleep") return answerAsleep(visit, admission)
  if (refusal) giveUp(visit, refusal)
}

// Must not be cached: the unit may answer differently once it is awake.
const untilAwake: PreflightRule = { ...openToAll, max_age_seconds: 0 }

/**
 * A sleeping deployment is healthy. Its preflights allow everything: the CORS rules apply to the request itself, once it
 * is awake.
 */
async function answerAsleep(visit: Visit, { route, kind }: Admitted): Promise<void> {
  if (kind === "preflight") return answerPreflight(visit, untilAwake, route)
  answerForSleeper(visit.response, route, visit.requestId)
}

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined

/** The origin of the page of the console that sends the request. */
function consoleOf({ edge, request }: Visit): string | undefined {
  const { origin } = request.headers
  return edge.table.isConsole(origin) ? origin : undefined
}

async function answerPreflight({ request, response, requestId }: Visit, rule: PreflightRule, route?: Route) {
  const { headersDistinct } = request
  const asked = Object.fromEntries(Object.entries(headersDistinct).map(([name, lines]) => [name, lines?.join(", ")]))
  const headers = await preflightHeaders(rule, asked)
  const revision = route && { "x-revision-id": route.revision_id }
  response.writeHead(204, { ...headers, ...revision, "x-request-id": requestId }).end()
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
    // Once the answer has started, breaking it off tells the caller; once the caller has left, there is nobody to answer.
    if (response.headersSent || response.destroyed) return
    edge.log.warn({ err, request_id: requestId, unit_id: unit.unit_id }, "unit closed the connection during a request")
    const { name } = admitted.route
    giveUp(visit, hasLargeHeaders(err) ? largeHeaders(name, maxHeaderBytes) : brokenOff(name))
  }
}

/** The request as sent to this unit, with the unit's token among the headers. */
function onwardRequest(
  { edge, request, requestId }: Visit,
  { target, isConsole, person, mayApprove }: Admitted,
  { token }: Unit,
  signal: AbortSignal,
): ForwardedRequest {
  const { method = "GET", headersDistinct } = request
  const { httpVersion } = request
  const stamp = {
    caller: callerOf(edge, request),
    prefix: target.prefix,
    requestId,
    unitToken: token,
    isConsole,
    person,
    mayApprove,
    httpVersion,
  }
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
function beginAnswer(visit: Visit, status: number, headers: string[]): ServerResponse {
  const { response, requestId, onAnswer } = visit
  onAnswer(status)
  response.writeHead(status, responseHeaders(headers, requestId, consoleOf(visit)))
  // A stream's head must not wait for its first event; if that arrives in the same tick, both leave in one write.
  setImmediate(() => response.destroyed || response.flushHeaders())
  return response
}

/** Answers with the refusal if nothing was sent yet; cuts an answer that has started. */
function giveUp({ request, response, requestId, onAnswer }: Visit, refusal: Refusal): void {
  onAnswer(refusal.status)
  if (response.headersSent) response.destroy()
  else refuse(request, response, refusal, requestId)
}
