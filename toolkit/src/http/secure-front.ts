/**
 * One port that speaks HTTPS to the world, and also plain HTTP to this machine: what runs beside us (the command line, a
 * health check) knows an address that no certificate names.
 */
import type { Server } from "node:http"
import { createServer, type Server as NetServer, type Socket } from "node:net"

export interface SecureFront {
  readonly server: NetServer
  /** Cuts what is still open. */
  destroy(): void
}

// The first byte of a TLS handshake; no method of HTTP begins with it.
const handshake = 0x16

/** @param servers  neither listens by itself */
export function secureFront({ plain, secure }: { plain: Server; secure: Server }): SecureFront {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
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
  const destroy = () => {
    for (const socket of sockets) socket.destroy()
  }
  return { server, destroy }
}

const isFromHere = ({ remoteAddress = "" }: Socket): boolean =>
  /^(?:::ffff:)?127\./.test(remoteAddress) || remoteAddress === "::1"
