/** The edge's server for the world, and its end. */
import { createServer, type Server, type ServerOptions } from "node:http"
import { createServer as createSecureServer, type Server as SecureServer } from "node:https"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { limitFirstRequests } from "@superstep/toolkit/http/first-requests"
import { keepIdleConnections } from "@superstep/toolkit/http/keep-alive"
import { refuseUnreadable } from "@superstep/toolkit/http/refuse-unreadable"
import { followTlsFiles, readTlsFiles, tlsFilesOf } from "@superstep/toolkit/http/tls-files"
import { type Edge, maxHeaderBytes } from "./edge.js"
import { proxyRequest } from "./proxy.js"
import { proxyUpgrade } from "./upgrade.js"

// A caller that is slow with its headers is an attack, one that is slow with its body is on a train.
const headersTimeoutMs = 60_000

export interface EdgeServer {
  readonly server: Server
  /** From now on each answer is the last of its connection. */
  endConnections(): void
  /** Stops accepting and waits until everything open has ended, at most `graceMs`; then cuts. */
  close(graceMs: number): Promise<void>
}

export function createEdgeServer(edge: Edge): EdgeServer {
  const options: ServerOptions = {
    maxHeaderSize: maxHeaderBytes,
    requestTimeout: 0,
    headersTimeout: headersTimeoutMs,
    keepAlive: true,
    noDelay: true,
  }
  const tls = tlsFilesOf(edge.config.tlsCert, edge.config.tlsKey)
  const server = tls ? createSecureServer({ ...options, ...readTlsFiles(tls) }) : createServer(options)
  if (tls) followTlsFiles(server as SecureServer, tls, edge.log)
  keepIdleConnections(server)
  const heard = limitFirstRequests({ accepting: server, answering: [server] })
  server.on("clientError", refuseUnreadable(maxHeaderBytes / 1024))
  // Node forgets a connection once it is upgraded, so we remember it.
  const upgraded = new Set<Duplex>()
  let isClosing = false
  let isLastAnswer = false
  server.on("request", (request, response) => {
    if (isLastAnswer) response.shouldKeepAlive = false
    // Once the server is closing, a kept-alive connection whose answer has ended must go too.
    response.once("close", () => setImmediate(() => isClosing && server.closeIdleConnections()))
    void proxyRequest(edge, request, response)
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
    // Called too when the server has retired before: then it has closed, and ends with its last connection.
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    const cut = setTimeout(() => {
      server.closeAllConnections()
      for (const socket of upgraded) socket.destroy()
    }, graceMs)
    await closed
    clearTimeout(cut)
    edge.connections.destroy()
  }
  return { server, endConnections, close }
}
