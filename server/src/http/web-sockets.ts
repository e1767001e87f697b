/**
 * Upgrades requests to WebSockets. The request passes the app's middleware like every other one, so keys, access rules and limits hold.
 * Then the route of the path accepts the connection, or the project's own app opens it, or the reply refuses it.
 */
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { type Duplex, Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { beginRefusal, joinUpgraded } from "@superstep/protocol/http/upgraded"
import { takeSocketCredentials } from "@superstep/protocol/http/websocket-credentials"
import type { UpgradeListener } from "@superstep/toolkit/http/listen"
import { WebSocketServer } from "ws"
import { outsideOrigin } from "./origin.js"
import type { OpenSocket, Upgrade } from "./upgrade.js"

interface Handshake {
  readonly incoming: IncomingMessage
  readonly socket: Socket
  /** What the client sent after its head. */
  readonly early: Buffer
}

type Fetch = (request: Request, env: never) => Promise<Response>

// As much as most requests may have; a command is small.
const maxCommandBytes = 25 * 1024 * 1024

export class WebSockets {
  readonly #fetch: Fetch
  readonly #sockets = new Set<Socket>()
  readonly #open = new Set<OpenSocket>()
  readonly #handshakes = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxCommandBytes,
    handleProtocols: ([first]) => first ?? false,
  })

  constructor(fetch: Fetch) {
    this.#fetch = fetch
  }

  /** For the server's event. Never throws. */
  readonly listener: UpgradeListener = (incoming, socket, early) => {
    socket.on("error", () => socket.destroy())
    this.#sockets.add(socket)
    socket.once("close", () => this.#sockets.delete(socket))
    this.#upgrade({ incoming, socket, early }).catch(() => socket.destroy())
  }

  /** Closes all connections; their clients reconnect. */
  async close(graceMs: number): Promise<void> {
    for (const connection of this.#open) connection.restart()
    const closed = [...this.#sockets].map(
      (socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())),
    )
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, graceMs)
    await Promise.all(closed)
    clearTimeout(cut)
  }

  async #upgrade(handshake: Handshake): Promise<void> {
    const { incoming, socket } = handshake
    const origin = outsideOrigin(incoming)
    takeSocketCredentials(incoming)
    let open: (() => void) | undefined
    let peer: Duplex | undefined
    const upgrade: Upgrade = {
      accept: (speak) => {
        open = () => this.#accept(handshake, speak)
      },
      carry: (answer, found) => {
        peer = found.on("error", () => socket.destroy())
        open = () => this.#carry(handshake, answer, found)
      },
    }
    // The middleware waits for the close of the reply, which is that of the connection.
    const env = { incoming, outgoing: socket, origin, upgrade }
    const response = await this.#fetch(requestOf(incoming), env as never)
    // A middleware may refuse what the route or the app has accepted.
    if (open !== undefined && response.ok) return open()
    peer?.destroy()
    await refuse(socket, response)
  }

  #accept({ incoming, socket, early }: Handshake, speak: Parameters<Upgrade["accept"]>[0]): void {
    this.#handshakes.handleUpgrade(incoming, socket, early, (ws) => {
      const connection = speak(ws, socket)
      this.#open.add(connection)
      ws.once("close", () => this.#open.delete(connection))
    })
  }

  #carry({ socket, early }: Handshake, answer: readonly string[], peer: Duplex): void {
    if (socket.destroyed) {
      peer.destroy()
      return
    }
    joinUpgraded({ socket, early }, peer, answer)
    const connection: OpenSocket = {
      // The app's side closes the WebSocket when nothing more comes.
      restart: () => {
        socket.unpipe(peer).resume()
        peer.end()
      },
    }
    this.#open.add(connection)
    socket.once("close", () => this.#open.delete(connection))
  }
}

const requestOf = (incoming: IncomingMessage): Request =>
  new Request(`http://${incoming.headers.host ?? "localhost"}${incoming.url}`, {
    headers: Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    ),
  })

/** Sends a reply on a connection that is not upgraded. The end of the connection is the end of the body. */
async function refuse(socket: Socket, { status, headers, body }: Response): Promise<void> {
  const kept = [...headers].filter(([name]) => !/^(connection|transfer-encoding)$/.test(name))
  beginRefusal(socket, status, kept.flat())
  if (body === null) socket.end()
  else await pipeline(Readable.fromWeb(body as never), socket)
}
