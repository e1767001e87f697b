/** The edge's public server, and its shutdown. */
import { createServer, type Server, type ServerOptions } from "node:http"
import {
  createServer as createSecureServer,
  type Server as SecureServer,
  type ServerOptions as SecureServerOptions,
} from "node:https"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { limitFirstRequests } from "@superstep/toolkit/http/first-requests"
import { keepIdleConnections } from "@superstep/toolkit/http/keep-alive"
import { closePipelined } from "@superstep/toolkit/http/pipelined"
import { refuseUnreadable } from "@superstep/toolkit/http/refuse-unreadable"
import { followTlsFiles, readTlsFiles, tlsFilesOf } from "@superstep/toolkit/http/tls-files"
import { upgradesOnlyWebSockets } from "@superstep/toolkit/http/websocket-handshakes"
import { type Edge, maxHeaderBytes } from "./edge.js"
import { answerChallenge, createPlainServer } from "./plain-server.js"
import { proxyRequest } from "./proxy.js"
import { hostOf } from "./target.js"
import { proxyUpgrade } from "./upgrade.js"

// Slow headers are an attack; a slow body may be a caller on a train.
const headersTimeoutMs = 60_000

export interface EdgeServer {
  readonly server: Server
  /** For certificate authorities and redirects, while `server` speaks HTTPS. */
  readonly plain: Server | undefined
  /** From now on each answer closes its connection. */
  endConnections(): void
  /** Stops accepting, waits at most `graceMs` for everything open to end, then cuts the rest. */
  close(graceMs: number): Promise<void>
}

export function createEdgeServer(edge: Edge): EdgeServer {
  const options: ServerOptions = {
    maxHeaderSize: maxHeaderBytes,
    requestTimeout: 0,
    headersTimeout: headersTimeoutMs,
    keepAlive: true,
    noDelay: true,
    ...upgradesOnlyWebSockets,
  }
  const tls = tlsFilesOf(edge.config.tlsCert, edge.config.tlsKey)
  const server = tls
    ? createSecureServer({ ...options, ...readTlsFiles(tls), SNICallback: namedBy(edge) })
    : createServer(options)
  const plain = edge.config.hasPlainSocket ? createPlainServer(edge, options) : undefined
  if (tls) followTlsFiles(server as SecureServer, tls, edge.log)
  keepIdleConnections(server)
  closePipelined(server)
  const heard = limitFirstRequests({ accepting: server, answering: [server] })
  server.on("clientError", refuseUnreadable(maxHeaderBytes / 1024))
  // Node forgets a connection once it is upgraded, so we keep it here.
  const upgraded = new Set<Duplex>()
  let isClosing = false
  let isLastAnswer = false
  server.on("request", (request, response) => {
    if (isLastAnswer) response.shouldKeepAlive = false
    // Once the server is closing, a kept-alive connection whose answer has ended must go too.
    response.once("close", () => setImmediate(() => isClosing && server.closeIdleConnections()))
    if (!answerChallenge(edge, request, response)) void proxyRequest(edge, request, response)
  })
  server.on("upgrade", (request, socket, early) => {
    heard(socket as Socket)
    upgraded.add(socket)
    socket.once("close", () => upgraded.delete(socket))
    void proxyUpgrade(edge, request, socket, early)
  })

  const endConnections = () => {
    isLastAnswer = true
  }
  const close = async (graceMs: number): Promise<void> => {
    isClosing = true
    // Also called after the server has retired: then it no longer listens, and ends with its last connection.
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    plain?.close()
    plain?.closeAllConnections()
    const cut = setTimeout(() => {
      server.closeAllConnections()
      for (const socket of upgraded) socket.destroy()
    }, graceMs)
    await closed
    clearTimeout(cut)
    edge.connections.destroy()
  }
  return { server, plain, endConnections, close }
}

/** Selects the certificate by the name that the caller asks for; without one of its own, that of the operator is shown. */
const namedBy =
  (edge: Edge): NonNullable<SecureServerOptions["SNICallback"]> =>
  (name, done) => {
    const certificate = edge.table.certificateOf(hostOf("", name))
    done(null, certificate === undefined ? undefined : edge.certificates.find(certificate))
  }
