/** Sends the edge's own answers: through Node's response, or as bytes where there is only a socket. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { beginRefusal } from "@superstep/protocol/http/upgraded"
import { type Refusal, renderRefusal } from "./refusal.js"
import type { Route } from "./table.js"

// Long enough for a caller to stop sending and read the answer.
const lingerMs = 2000

export function refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal, requestId: string): void {
  const { status, headers, body } = renderRefusal(refusal, requestId)
  response.writeHead(status, headers)
  response.end(body)
  discardRest(request)
}

/** Answers a health check: a sleeping deployment is healthy, and the first real request wakes it. */
export function answerForSleeper(response: ServerResponse, route: Route, requestId: string): void {
  const headers = { "content-type": "application/json", "x-revision-id": route.revision_id, "x-request-id": requestId }
  response.writeHead(200, { ...headers, "access-control-allow-origin": "*" })
  response.end(JSON.stringify({ ok: true }))
}

/**
 * Reads and drops the rest of a body, for a limited time. Closing at once would reset the connection, and the caller would
 * lose the answer with the reason; reading without a limit would let anybody keep us busy.
 */
export function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  request.unpipe()
  request.resume()
  const cut = setTimeout(() => request.destroy(), lingerMs)
  request.once("close", () => clearTimeout(cut))
}

/** Refuses an upgrade, for which Node has no response object, and closes the connection. */
export function refuseOnSocket(socket: Duplex, refusal: Refusal, requestId: string): void {
  const { status, headers, body } = renderRefusal(refusal, requestId)
  if (socket.writable) beginRefusal(socket, status, Object.entries(headers).flat()).end(body)
}
