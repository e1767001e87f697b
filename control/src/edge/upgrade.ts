/**
 * Carries a WebSocket: the handshake as HTTP, then bytes both ways. Nothing but WebSocket is upgraded: behind a tunnel
 * of another protocol (h2c) requests would reach the unit unchecked.
 */
import { randomUUID } from "node:crypto"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { admit } from "./admission.js"
import { callerOf } from "./caller.js"
import type { Edge } from "./edge.js"
import { hasBody, requestHeaders, requestIdOf, responseHeaders } from "./headers.js"
import { isTooFast } from "./rate-limit.js"
import { type Reached, reachUnit } from "./reach-unit.js"
import { brokenOff, internalError, malformed, tooManyRequests } from "./refusal.js"
import { refuseOnSocket, renderHead } from "./replies.js"
import type { Route } from "./table.js"

// Finds callers and units that vanished without a word.
const keepAliveMs = 30_000

interface Handshake {
  readonly edge: Edge
  readonly request: IncomingMessage
  readonly socket: Socket
  /** What the caller sent after its head. */
  readonly early: Buffer
  readonly requestId: string
}

/** Never rejects: what fails is answered and logged. */
export async function proxyUpgrade(edge: Edge, request: IncomingMessage, socket: Duplex, early: Buffer): Promise<void> {
  const requestId = requestIdOf(request.headersDistinct, randomUUID)
  // A reset of the caller shows as `close` too, and that is what we act on.
  socket.on("error", (err) => edge.log.debug({ err, request_id: requestId }, "upgraded connection failed"))
  try {
    await shakeHands({ edge, request, socket: socket as Socket, early, requestId })
  } catch (err) {
    edge.log.error({ err, request_id: requestId, url: request.url }, "upgrade failed")
    refuseOnSocket(socket, internalError, requestId)
  }
}

async function shakeHands(handshake: Handshake): Promise<void> {
  const { edge, request, socket, requestId } = handshake
  const { method = "GET", url = "/", headersDistinct: headers } = request
  const admission = admit({ method, url, headers, isUpgrade: true }, edge.table, edge.config.maxBodyBytes)
  if ("refusal" in admission) return refuseOnSocket(socket, admission.refusal, requestId)
  if (request.headers.upgrade?.toLowerCase() !== "websocket" || method !== "GET" || hasBody(headers)) {
    return refuseOnSocket(socket, malformed("only WebSocket is upgraded here: leave the header Upgrade out"), requestId)
  }
  const { route, target } = admission
  if (isTooFast(edge, route)) return refuseOnSocket(socket, tooManyRequests(route), requestId)
  const gone = new AbortController()
  socket.once("close", () => gone.abort())
  const caller = callerOf(edge, request)
  const reached = await reachUnit(edge, {
    route,
    kind: "websockets",
    isUse: true,
    gone: gone.signal,
    head: ({ token }) => ({
      agent: false,
      path: target.path,
      headers: {
        ...requestHeaders(headers, { caller, prefix: target.prefix, requestId, unitToken: token }),
        connection: "Upgrade",
        upgrade: "websocket",
      },
    }),
  })
  if (!reached || gone.signal.aborted) return
  if ("refusal" in reached) refuseOnSocket(socket, reached.refusal, requestId)
  else carry(handshake, route, reached)
}

function carry(handshake: Handshake, route: Route, { request: upstream, exchange, unit }: Reached): void {
  const { edge, socket, requestId } = handshake
  socket.once("close", () => {
    exchange.close()
    upstream.destroy()
  })
  upstream.once("upgrade", (answer, unitSocket, unitEarly) => joinSockets(handshake, answer, unitSocket, unitEarly))
  upstream.once("response", (answer) => relayRefusal(handshake, answer))
  upstream.on("error", (err) => {
    if (socket.destroyed) return
    edge.log.warn({ err, request_id: requestId, unit_id: unit.unit_id }, "unit broke an upgrade off")
    refuseOnSocket(socket, brokenOff(route.name), requestId)
  })
  upstream.end()
}

function joinSockets(
  { edge, socket, early, requestId }: Handshake,
  answer: IncomingMessage,
  unitSocket: Socket,
  unitEarly: Buffer,
): void {
  const headers = { ...responseHeaders(answer.headersDistinct, requestId), connection: "Upgrade", upgrade: "websocket" }
  for (const side of [socket, unitSocket]) {
    side.setTimeout(0)
    side.setNoDelay(true)
    side.setKeepAlive(true, keepAliveMs)
  }
  unitSocket.on("error", (err) => edge.log.debug({ err, request_id: requestId }, "upgraded connection failed"))
  unitSocket.once("close", () => socket.destroySoon())
  socket.once("close", () => unitSocket.destroy())
  socket.write(renderHead(101, headers))
  if (unitEarly.length > 0) socket.write(unitEarly)
  if (early.length > 0) unitSocket.write(early)
  socket.pipe(unitSocket).pipe(socket)
}

/** The unit declined: its answer goes to the caller as it is, and the connection ends. */
function relayRefusal({ socket, requestId }: Handshake, answer: IncomingMessage): void {
  const headers = { ...responseHeaders(answer.headersDistinct, requestId), connection: "close" }
  socket.write(renderHead(answer.statusCode ?? 502, headers))
  // Chunks were taken apart on the way in; the end of the connection ends the body.
  answer.pipe(socket)
  answer.once("close", () => {
    if (!answer.complete) socket.destroy()
  })
}
