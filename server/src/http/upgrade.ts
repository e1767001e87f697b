/** What the code behind a listener may do with a request for a WebSocket. */
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { WebSocket } from "ws"

/** A connection that can be upgraded. It is open when the reply of whoever called one of these has passed the middleware. */
export interface Upgrade {
  /** Called by a route, which speaks with the client itself. */
  accept(open: (ws: WebSocket, socket: Socket) => OpenSocket): void
  /** The project's app has opened the WebSocket. @param answer  its headers, without those of one connection */
  carry(answer: readonly string[], peer: Duplex): void
}

export interface OpenSocket {
  /** Closes the connection so that the client reconnects. */
  restart(): void
}
