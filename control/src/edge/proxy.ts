/**
 * Carries one request to a unit and its answer back, without holding bytes: each side is read only as fast as the
 * other takes it, and an event goes on in the tick in which it came.
 * P1 a caller that leaves ends the unit's request; P2 an answer that breaks off breaks off for the caller too, never
 * ending as if it were whole; P3 a request stays with its unit, whatever the table becomes.
 */
import { randomUUID } from "node:crypto"
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http"
import { pipeline } from "node:stream"
import { admit } from "./admission.js"
import { callerOf } from "./caller.js"
import type { Edge } from "./edge.js"
import { hasBody, isEventStream, requestHeaders, requestIdOf, responseHeaders } from "./headers.js"
import { isTooFast } from "./rate-limit.js"
import { type Reached, reachUnit } from "./reach-unit.js"
import { brokenOff, internalError, type Refusal, tooLarge, tooManyRequests } from "./refusal.js"
import { answerForSleeper, discardRest, refuse } from "./replies.js"
import type { Route } from "./table.js"
import { isHealthCheck } from "./target.js"

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

  const { route, target } = admission
  const isUse = !isHealthCheck(target.path)
  // The platform's own looks are not what users wait for.
  if (isUse) visit.onAnswer = edge.tallies.begin(route.deployment_id)
  // Who watches over a deployment would never let it sleep.
  if (!isUse && (route.state === "held" || route.state === "full")) return answerForSleeper(response, route, requestId)
  if (isUse && isTooFast(edge, route)) return refuse(request, response, tooManyRequests(route), requestId)
  const gone = new AbortController()
  response.once("close", () => gone.abort())
  const caller = callerOf(edge, request)
  const reached = await reachUnit(edge, {
    route,
    kind: "requests",
    isUse,
    gone: gone.signal,
    head: (unit) => ({
      agent: edge.connections.agentFor(unit),
      method,
      path: target.path,
      headers: requestHeaders(headers, { caller, prefix: target.prefix, requestId, unitToken: unit.token }),
    }),
  })
  if (!reached || gone.signal.aborted) return
  if ("refusal" in reached) giveUp(visit, reached.refusal)
  else carry(visit, route, reached)
}

function carry(visit: Visit, route: Route, { request: upstream, exchange, unit }: Reached): void {
  const { edge, request, response, requestId } = visit
  response.once("close", () => {
    exchange.close()
    if (!response.writableFinished) upstream.destroy()
    discardRest(request)
  })
  const fail = (err: unknown) => {
    // Once the answer has begun, its own end tells what happened; once the caller has left, nobody asks.
    if (response.headersSent || response.destroyed) return
    edge.log.warn({ err, request_id: requestId, unit_id: unit.unit_id }, "unit broke a request off")
    giveUp(visit, brokenOff(route.name))
  }
  upstream.on("error", fail)
  upstream.once("response", (answer) => {
    if (isEventStream(answer.headersDistinct)) exchange.becomeStream()
    try {
      relayAnswer(visit, answer)
    } catch (err) {
      // Node parses a few answers that it refuses to write, such as status 099.
      answer.destroy()
      fail(err)
    }
  })
  sendBody(visit, upstream)
}

function relayAnswer({ edge, response, requestId, onAnswer }: Visit, answer: IncomingMessage): void {
  onAnswer(answer.statusCode ?? 0)
  response.writeHead(answer.statusCode ?? 0, responseHeaders(answer.headersDistinct, requestId))
  // A stream's head must not wait for its first event; but where that has come with it, both leave in one write.
  setImmediate(() => response.destroyed || response.flushHeaders())
  pipeline(answer, response, (err) => {
    if (err) edge.log.debug({ err, request_id: requestId }, "answer ended early")
  })
}

function sendBody(visit: Visit, upstream: ClientRequest): void {
  const { edge, request } = visit
  if (!hasBody(request.headersDistinct)) {
    upstream.end()
    return
  }
  const limit = edge.config.maxBodyBytes
  let seen = 0
  // Node would write the head and the beginning of the body one by one, and the unit would wake twice.
  request.once("data", () => {
    upstream.cork()
    process.nextTick(() => upstream.uncork())
  })
  // Added before the pipe, so that it sees a chunk before the unit does. Both obey the pipe's pauses.
  request.on("data", (chunk: Buffer) => {
    seen += chunk.length
    if (seen <= limit || upstream.destroyed) return
    upstream.destroy()
    giveUp(visit, tooLarge(limit))
  })
  request.pipe(upstream)
}

/** Answers if nothing was answered yet; an answer under way is cut. */
function giveUp({ request, response, requestId, onAnswer }: Visit, refusal: Refusal): void {
  onAnswer(refusal.status)
  if (response.headersSent) response.destroy()
  else refuse(request, response, refusal, requestId)
}
