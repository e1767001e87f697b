/**
 * Upgrades requests to WebSockets. The request passes the app's middleware like every other one, so keys, access rules and limits hold;
 * the route of the path then accepts the connection, or its reply refuses it.
 */
import { type IncomingMessage, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { takeSocketCredentials } from "@superstep/protocol/http/websocket-credentials"
import type { UpgradeListener } from "@superstep/toolkit/http/listen"
import { type WebSocket, WebSocketServer } from "ws"
import { outsideOrigin } from "../gate/origin.js"

/** Where a route accepts a connection. */
export interface Upgrade {
  /** Called by the route; the connection is open when it returned its reply. */
  accept(open: (ws: WebSocket, socket: Socket) => { restart(): void }): void
}

type Fetch = (request: Request, env: never) => Promise<Response>

// As much as most requests may have; a command is small.
const maxCommandBytes = 25 * 1024 * 1024

export class WebSockets {
  readonly #fetch: Fetch
  readonly #sockets = new Set<Socket>()
  readonly #open = new Set<{ restart(): void }>()
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
    this.#upgrade(incoming, socket, early).catch(() => socket.destroy())
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

  async #upgrade(incoming: IncomingMessage, socket: Socket, early: Buffer): Promise<void> {
    const isWebSocket = incoming.method === "GET" && incoming.headers.upgrade?.toLowerCase() === "websocket"
    if (!isWebSocket) return refuse(socket, Response.json({ detail: "only WebSocket is upgraded" }, { status: 400 }))
    const origin = outsideOrigin(incoming)
    takeSocketCredentials(incoming)
    let open: Parameters<Upgrade["accept"]>[0] | undefined
    const upgrade: Upgrade = {
      accept: (given) => {
        open = given
      },
    }
    const request = new Request(`http://${incoming.headers.host ?? "localhost"}${incoming.url}`, {
      headers: Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      ),
    })
    // The middleware waits for the close of the reply, which is that of the connection.
    const env = { incoming, outgoing: socket, origin, upgrade }
    const response = await this.#fetch(request, env as never)
    const accepted = open
    // The middleware of the project's app may refuse what the route has accepted.
    if (!accepted || !response.ok) return refuse(socket, response)
    this.#handshakes.handleUpgrade(incoming, socket, early, (ws) => {
      const connection = accepted(ws, socket)
      this.#open.add(connection)
      ws.once("close", () => this.#open.delete(connection))
    })
  }
}

/** Sends a reply on a connection that is not upgraded. */
async function refuse(socket: Socket, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer())
  const headers = [...response.headers].filter(
    ([name]) => !/^(content-length|connection|transfer-encoding)$/.test(name),
  )
  const lines = [...headers, ["content-length", body.length], ["connection", "close"]].map((pair) => pair.join(": "))
  const head = `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n`
  socket.end(Buffer.concat([Buffer.from(head, "latin1"), body]))
}
