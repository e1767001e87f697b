/**
 * Carries a WebSocket: the handshake as HTTP, then bytes both ways. Only WebSocket is upgraded (server.ts): through a tunnel of another
 * protocol (h2c) requests would reach the unit unchecked.
 */
import { randomUUID } from "node:crypto"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { forward, NotSent } from "@superstep/protocol/http/forward"
import { beginRefusal, joinUpgraded } from "@superstep/protocol/http/upgraded"
import { takeSocketCredentials } from "@superstep/protocol/http/websocket-credentials"
import { type Admitted, admit } from "./admission.js"
import { callerOf } from "./caller.js"
import { closeFrame, FrameBoundary } from "./close-frame.js"
import type { Edge } from "./edge.js"
import { hasBody, requestHeaders, requestIdOf, responseHeaders } from "./headers.js"
import { isTooFast } from "./rate-limit.js"
import { reachUnit } from "./reach-unit.js"
import { brokenOff, internalError, malformed, tooManyRequests } from "./refusal.js"
import { refuseOnSocket } from "./replies.js"
import type { Unit } from "./table.js"
import { threadOf } from "./target.js"

// Clients treat 4400 to 4499 like the HTTP status, and do not reconnect.
const revoked = { code: 4401, reason: "the API key was revoked or has expired" } as const
// Enough for a busy unit; a caller that does not read cannot keep the connection.
const revokedMs = 5_000

// A caller speaks after the answer. Of one that does not wait, this much is kept.
const mostEarly = 65_536

interface Handshake {
  readonly edge: Edge
  readonly request: IncomingMessage
  readonly socket: Socket
  /** Ends the wait. @returns  what the caller has sent after its head */
  readonly takeBuffered: () => Buffer
  readonly requestId: string
  /** Called when the caller's key was revoked. */
  onRevoked: () => void
}

/** Never rejects: failures are answered and logged. */
export async function proxyUpgrade(edge: Edge, request: IncomingMessage, socket: Duplex, early: Buffer): Promise<void> {
  const requestId = requestIdOf(request.headersDistinct, randomUUID)
  // A reset by the caller also emits `close`, which is handled below.
  socket.on("error", (err) => edge.log.debug({ err, request_id: requestId }, "upgraded connection failed"))
  try {
    const onRevoked = () => void socket.destroy()
    const callerLeft = new AbortController()
    const takeBuffered = bufferUntilJoined(socket, early, () => callerLeft.abort())
    await shakeHands({ edge, request, socket: socket as Socket, takeBuffered, requestId, onRevoked }, callerLeft.signal)
  } catch (err) {
    edge.log.error({ err, request_id: requestId, url: request.url }, "upgrade failed")
    refuseOnSocket(socket, internalError, requestId)
  }
}

/**
 * Reads a connection while its request waits. Node reports the end of a connection only while somebody reads it; so a caller that left would
 * keep its place.
 */
function bufferUntilJoined(socket: Duplex, early: Buffer, onLeft: () => void): () => Buffer {
  const parts = [early]
  let bytes = early.length
  const onData = (chunk: Buffer) => {
    parts.push(chunk)
    bytes += chunk.length
    if (bytes > mostEarly) socket.pause()
  }
  socket.on("data", onData).once("end", onLeft).once("close", onLeft)
  return () => {
    socket.off("data", onData).off("end", onLeft)
    return Buffer.concat(parts)
  }
}

/** @param callerLeft  aborts when the caller leaves before it has an answer, and at the end of its connection */
async function shakeHands(handshake: Handshake, callerLeft: AbortSignal): Promise<void> {
  const { edge, request, socket, requestId } = handshake
  // A page cannot set headers of a WebSocket. The unit must not see the key, so it is removed here.
  takeSocketCredentials(request)
  const { method = "GET", url = "/", headersDistinct: headers } = request
  const admission = admit({ method, url, headers, isUpgrade: true }, edge.table, edge.config.maxBodyBytes)
  if ("refusal" in admission) return refuseOnSocket(socket, admission.refusal, requestId)
  if (hasBody(headers)) return refuseOnSocket(socket, malformed("a WebSocket handshake has no body"), requestId)
  const { route } = admission
  if (isTooFast(edge, route)) return refuseOnSocket(socket, tooManyRequests(route), requestId)
  if (admission.keyHash)
    socket.once(
      "close",
      edge.openByKey.add(route, admission.keyHash, () => handshake.onRevoked()),
    )
  const refusal = await reachUnit(edge, {
    route,
    kind: "websockets",
    threadId: threadOf(admission.target.path),
    isUse: true,
    gone: callerLeft,
    send: (unit) => carry(handshake, admission, unit, callerLeft),
  })
  if (refusal && refusal !== "asleep") refuseOnSocket(socket, refusal, requestId)
  // One that has left gets no answer, and nobody else ends our side of its connection.
  else if (callerLeft.aborted) socket.end()
}

/** Resolves when the WebSocket, or the answer that declined it, has ended. @throws NotSent  the unit cannot be connected to */
async function carry(
  handshake: Handshake,
  { route, target, isConsole, person, mayApprove }: Admitted,
  unit: Unit,
  callerLeft: AbortSignal,
): Promise<void> {
  const { edge, request, socket, requestId } = handshake
  const caller = callerOf(edge, request)
  const headers = requestHeaders(request, {
    caller,
    prefix: target.prefix,
    requestId,
    unitToken: unit.token,
    isConsole,
    person,
    mayApprove,
    httpVersion: request.httpVersion,
  })
  const upgrade = {
    method: "GET",
    path: target.path,
    headers,
    body: null,
    upgrade: "websocket",
    signal: callerLeft,
  } as const
  let isBegun = false
  let joined: Promise<unknown> | undefined
  try {
    await forward(edge.connections.to(unit), upgrade, {
      onAnswer: (status, answer) => {
        isBegun = true
        return relayRefusal(handshake, status, answer)
      },
      onUpgrade: (_, answer, unitSocket) => {
        joined = join(handshake, answer, unitSocket)
      },
    })
    await joined
  } catch (err) {
    if (err instanceof NotSent) throw err
    if (isBegun || callerLeft.aborted) return
    edge.log.warn({ err, request_id: requestId, unit_id: unit.unit_id }, "unit closed the connection during an upgrade")
    refuseOnSocket(socket, brokenOff(route.name), requestId)
  }
}

/** @returns  a promise that resolves when the caller's connection has ended */
function join(handshake: Handshake, answer: string[], peer: Duplex): Promise<unknown> {
  const { edge, socket, requestId } = handshake
  const early = handshake.takeBuffered()
  const ended = new Promise((resolve) => socket.once("close", resolve))
  peer.on("error", (err) => edge.log.debug({ err, request_id: requestId }, "upgraded connection failed"))
  const sent = new FrameBoundary()
  sent.read(early)
  socket.on("data", (chunk: Buffer) => sent.read(chunk))
  joinUpgraded({ socket, early }, peer, responseHeaders(answer, requestId))
  handshake.onRevoked = () => closeBoth(socket, peer, sent)
  return ended
}

function closeBoth(socket: Socket, unitSocket: Duplex, sent: FrameBoundary): void {
  if (!sent.isBetweenFrames) return void socket.destroy()
  socket.unpipe(unitSocket)
  // What the caller still sends is dropped.
  socket.resume()
  unitSocket.write(closeFrame(revoked.code, revoked.reason))
  const cut = setTimeout(() => socket.destroy(), revokedMs)
  socket.once("close", () => clearTimeout(cut))
}

/** The unit declined: its answer goes to the caller unchanged. @returns  where to write the body of the answer */
function relayRefusal({ socket, requestId }: Handshake, status: number, answer: string[]): Socket {
  return beginRefusal(socket, status, responseHeaders(answer, requestId))
}
