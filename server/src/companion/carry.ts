/** Carries requests and WebSockets to the guest, which sees neither the unit's token nor any other header of ours. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { answerHeadersOnward, requestHeadersOnward } from "@superstep/protocol/http/end-to-end"
import { forward, keptConnections, NotSent } from "@superstep/protocol/http/forward"
import { beginRefusal, joinUpgraded } from "@superstep/protocol/http/upgraded"
import { errorBody } from "@superstep/toolkit/http/error-body"
import { reply } from "./answers.js"

export interface Carrier {
  /** How many requests and WebSockets are open. */
  open(): number
  request(incoming: IncomingMessage, response: ServerResponse): Promise<void>
  upgrade(incoming: IncomingMessage, socket: Socket, early: Buffer): Promise<void>
  close(): Promise<void>
}

// Servers of others close idle connections after two seconds or more.
const idleMs = 1000

const revisionHeader = "x-revision-id"

/** Those of the guest, and the revision, which every unit names in its replies. */
const withRevision = (headers: readonly string[], revisionId: string): string[] => {
  const onward = answerHeadersOnward(headers)
  const own = onward.filter((_, at) => onward[at - (at % 2)]?.toLowerCase() !== revisionHeader)
  return [...own, revisionHeader, revisionId]
}

export function carrierTo({ port, revisionId }: { readonly port: number; readonly revisionId: string }): Carrier {
  const answerHeaders = (headers: readonly string[]) => withRevision(headers, revisionId)
  const connections = keptConnections(`http://127.0.0.1:${port}`, { idleMs })
  let open = 0

  /** @param whole  resolves when the caller's connection has ended too */
  const counted = async (whole: Promise<unknown>): Promise<void> => {
    open++
    try {
      await whole
    } finally {
      open--
    }
  }
  const onward = (incoming: IncomingMessage, closing: Duplex | ServerResponse) => {
    const gone = new AbortController()
    closing.once("close", () => gone.abort())
    const { method = "GET", url: path = "/", rawHeaders } = incoming
    return { method, path, headers: requestHeadersOnward(rawHeaders), signal: gone.signal }
  }

  const request = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { "content-length": length, "transfer-encoding": coding } = incoming.headers
    const hasBody = coding !== undefined || Number(length ?? 0) > 0
    const body = { source: incoming, length: length === undefined ? undefined : Number(length) }
    try {
      await forward(
        connections,
        { ...onward(incoming, response), body: hasBody ? body : null },
        {
          onAnswer: (status, headers) => {
            response.writeHead(status, answerHeaders(headers))
            // A stream's head must not wait for its first event.
            setImmediate(() => response.destroyed || response.flushHeaders())
            return response
          },
        },
      )
    } catch (error) {
      if (response.destroyed) return
      if (response.headersSent) return void response.destroy()
      const isNotSent = error instanceof NotSent
      const words = isNotSent ? `nothing listens on port ${port}` : "the server closed the connection"
      const detail = `${words} in the container of this revision`
      if (isNotSent) reply(response, 503, errorBody(detail, "unavailable"))
      else reply(response, 502, errorBody(detail, "bad_gateway"))
    }
  }

  const upgrade = async (incoming: IncomingMessage, socket: Socket, early: Buffer): Promise<void> => {
    const ended = new Promise((resolve) => socket.once("close", resolve))
    const asked = { ...onward(incoming, socket), body: null, upgrade: "websocket" } as const
    try {
      await forward(connections, asked, {
        onAnswer: (status, headers) => {
          return beginRefusal(socket, status, answerHeaders(headers))
        },
        onUpgrade: (_, headers, peer) => {
          // Its end is seen by `close`.
          peer.on("error", () => undefined)
          joinUpgraded({ socket, early }, peer, answerHeaders(headers))
        },
      })
      await ended
    } catch {
      if (!socket.destroyed) beginRefusal(socket, 502, ["content-length", "0"]).end()
    }
  }
  return {
    open: () => open,
    request: (incoming, response) => counted(request(incoming, response)),
    upgrade: (incoming, socket, early) => counted(upgrade(incoming, socket, early)),
    close: () => connections.destroy(),
  }
}
