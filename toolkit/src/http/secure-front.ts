/**
 * One port that speaks HTTPS to everybody, and also plain HTTP to this machine: local programs (the command line, a health
 * check) use an address that no certificate names.
 */
import type { Server } from "node:http"
import { createServer, type Server as NetServer, type Socket } from "node:net"
import { type FirstRequestLimits, limitFirstRequests } from "./first-requests.js"

export interface SecureFront {
  readonly server: NetServer
  /** Stops accepting and waits until open requests have ended, at most `graceMs`; then cuts them. */
  close(graceMs: number): Promise<void>
}

// The first byte of a TLS handshake; no HTTP method starts with it.
const handshake = 0x16

/**
 * @param servers  neither listens by itself
 * @param limits   for connections without a first request
 */
export function secureFront(
  { plain, secure }: { plain: Server; secure: Server },
  limits?: FirstRequestLimits,
): SecureFront {
  const sockets = new Set<Socket>()
  // A server starts to check the times of heads and of idle connections when it listens, which these never do.
  for (const it of [plain, secure]) it.emit("listening")
  // As in an HTTP server: an event of a stream is not delayed until the next one.
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
    // A caller that leaves before it has sent anything.
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
    // They have no connections any more; this stops their checks.
    for (const it of [plain, secure]) it.close()
  }
  return { server, close }
}

// A process that calls its own machine's address has that address as its source, too.
const isFromHere = ({ remoteAddress = "", localAddress }: Socket): boolean =>
  remoteAddress === localAddress || /^(?:::ffff:)?127\./.test(remoteAddress) || remoteAddress === "::1"
