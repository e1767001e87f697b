/**
 * One port that speaks HTTPS to the world, and also plain HTTP to this machine: what runs beside us (the command line, a
 * health check) knows an address that no certificate names.
 */
import type { Server } from "node:http"
import { createServer, type Server as NetServer, type Socket } from "node:net"
import { type FirstRequestLimits, limitFirstRequests } from "./first-requests.js"

export interface SecureFront {
  readonly server: NetServer
  /** Stops accepting and waits until open requests have ended, at most `graceMs`; then cuts them. */
  close(graceMs: number): Promise<void>
}

// The first byte of a TLS handshake; no method of HTTP begins with it.
const handshake = 0x16

/**
 * @param servers  neither listens by itself
 * @param limits   for connections over which no request has come yet
 */
export function secureFront(
  { plain, secure }: { plain: Server; secure: Server },
  limits?: FirstRequestLimits,
): SecureFront {
  const sockets = new Set<Socket>()
  // A server begins to look at the time of heads and of idle connections when it listens, which these never do.
  for (const it of [plain, secure]) it.emit("listening")
  // As an HTTP server has it: an event of a stream does not wait for the next one.
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
    // A caller that goes away before it said anything.
    socket.once("error", () => socket.destroy())
    socket.once("data", (first: Buffer) => {
      socket.pause()
      socket.unshift(first)
      const isPlain = first[0] !== handshake && isFromHere(socket)
      const chosen = isPlain ? plain : secure
      chosen.emit("connection", socket)
      process.nextTick(() => socket.resume())
    })
  })
  limitFirstRequests({ accepting: server, answering: [plain, secure] }, limits)
  const close = async (graceMs: number) => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    // A connection that answers its last request now would be kept open for the next one.
    const sweep = setInterval(() => [plain, secure].map((it) => it.closeIdleConnections()), 50)
    const cut = setTimeout(() => sockets.forEach((socket) => void socket.destroy()), graceMs)
    await closed
    clearInterval(sweep)
    clearTimeout(cut)
    // They hold no connection any more, and end their looks.
    for (const it of [plain, secure]) it.close()
  }
  return { server, close }
}

// Whoever calls a machine's own address from that machine has it as the sender's too.
const isFromHere = ({ remoteAddress = "", localAddress }: Socket): boolean =>
  remoteAddress === localAddress || /^(?:::ffff:)?127\./.test(remoteAddress) || remoteAddress === "::1"
