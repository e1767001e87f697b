/**
 * Connections whose request asks for a WebSocket. Upgraded, a hop passes their bytes on in both directions, and closes one side with the
 * other; else it refuses them. Node leaves such a connection alone: what nobody reads is not seen to end, either.
 */
import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"

// Detects sides that vanish without closing the connection.
const keepAliveMs = 30_000

// Long enough for a client to stop sending and read why it was refused.
const lingerMs = 2000

/** The status line and headers of an HTTP/1.1 answer, with the empty line. @param headers  name, value, name, value */
function renderHead(status: number, headers: readonly string[]): string {
  const lines = headers.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`))
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n`
}

/**
 * Begins the answer that refuses a WebSocket. With its body the connection ends: what the client still sends is dropped, and one that does
 * not close its side is closed.
 * @param headers  without those of one connection
 * @returns  where to write and end the body
 */
export function beginRefusal<T extends Duplex>(socket: T, status: number, headers: readonly string[]): T {
  socket.resume()
  socket.once("finish", () => {
    const cut = setTimeout(() => socket.destroy(), lingerMs)
    socket.once("close", () => clearTimeout(cut))
  })
  socket.write(renderHead(status, [...headers, "connection", "close"]), "latin1")
  return socket
}

export interface Upgrading {
  readonly socket: Socket
  /** What the client sent after its head. */
  readonly early: Buffer
}

/**
 * Tells the client that its connection is upgraded, and joins it with that of the next hop. Errors of both are for the caller.
 * @param headers  the next hop's answer, without those of one connection
 */
export function joinUpgraded({ socket, early }: Upgrading, peer: Duplex, headers: readonly string[]): void {
  for (const side of [socket, peer as Socket]) {
    side.setTimeout(0)
    side.setNoDelay(true)
    side.setKeepAlive(true, keepAliveMs)
  }
  peer.once("close", () => socket.destroySoon())
  socket.once("close", () => peer.destroy())
  socket.write(renderHead(101, [...headers, "connection", "Upgrade", "upgrade", "websocket"]), "latin1")
  if (early.length > 0) peer.write(early)
  socket.pipe(peer).pipe(socket)
}
