/**
 * A Unix socket on which the server accepts requests from its own code, in a folder that only this user can enter. Two kinds
 * of requests are accepted: a request that the project's app passes on, with its ticket; and a request of user code that this
 * server executes, with this server's credential. All others are rejected.
 */
import { randomBytes, randomUUID } from "node:crypto"
import { rm } from "node:fs/promises"
import type { ServerResponse } from "node:http"
import { dirname, join } from "node:path"
import {
  credentialHeader,
  isCredential,
  type OwnHeaders,
  signTicket,
  takeOwnHeaders,
  ticketHeader,
} from "@superstep/protocol/http/own-headers"
import type { Loopback } from "@superstep/protocol/worker/frames"
import { type Listening, listen } from "@superstep/toolkit/http/listen"
import { onceClosed } from "@superstep/toolkit/http/once-closed"
import type { Context } from "hono"
import type { FromListener, Origin, Ticket } from "../http/origin.js"
import { makeSocketFolder } from "../workers/worker-socket.js"

type Fetch = (request: Request, env: never) => Response | Promise<Response>

export interface OwnChannel {
  /** For workers only: their user code may call every route. */
  readonly loopback: Loopback
  /** The credential with which the server itself reaches only routes of the app. */
  readonly appCredential: string
  /**
   * Starts serving at the socket.
   * @param mountPrefix  the path below which the routes are; neither user code nor the project's app knows it
   */
  listen(fetch: Fetch, mountPrefix: string): Promise<void>
  /** Issues a ticket that is valid until the response is over. @returns the header's value, and a promise of the response's end */
  issue(c: Context, ticket: Ticket): { value: string; done: Promise<void> }
  close(): Promise<void>
}

const newCredential = (): string => randomBytes(32).toString("base64url")

export async function openOwnChannel(): Promise<OwnChannel> {
  const name = "server.sock"
  const socketPath = join(await makeSocketFolder("server", name), name)
  const [credential, appCredential] = [newCredential(), newCredential()]
  const tickets = new Map<string, Ticket>()
  let listening: Listening | undefined

  const originOf = (shown: OwnHeaders): Origin => {
    const [ticket, code] = [shown.get(ticketHeader), shown.get(credentialHeader)]
    if (ticket !== undefined) {
      const found = tickets.get(ticket)
      return found ? { from: "app", ticket: found } : unknownOrigin("the request that the app passes on has ended")
    }
    if (isCredential(code, credential)) return { from: "own code", onlyApp: false }
    if (isCredential(code, appCredential)) return { from: "own code", onlyApp: true }
    return unknownOrigin("only code of this project may use this socket, through the SDK's client without a URL")
  }

  return {
    loopback: { socket_path: socketPath, credential },
    appCredential,
    listen: async (fetch, mountPrefix) => {
      const withOrigin = (request: Request, env: FromListener) => {
        const origin = originOf(takeOwnHeaders(env.incoming))
        const handshake = origin.from === "app" ? origin.ticket.handshake : undefined
        const whole = mountPrefix === "" ? request : below(mountPrefix, request)
        return fetch(whole, { ...env, origin, ...handshake } as never)
      }
      listening = await listen(withOrigin as never, { socketPath })
    },
    issue: (c, ticket) => {
      const value = signTicket(randomUUID(), credential)
      tickets.set(value, ticket)
      const { outgoing } = c.env as { outgoing: ServerResponse }
      const done = new Promise<void>((resolve) => {
        onceClosed(outgoing, () => {
          tickets.delete(value)
          resolve()
        })
      })
      return { value, done }
    },
    close: async () => {
      await listening?.close(0)
      await rm(dirname(socketPath), { recursive: true, force: true })
    },
  }
}

const unknownOrigin = (problem: string): Origin => ({ from: "unknown", problem })

function below(mountPrefix: string, request: Request): Request {
  const url = new URL(request.url)
  url.pathname = `${mountPrefix}${url.pathname}`
  return new Request(url, request)
}

export interface OwnRequest {
  readonly method: string
  /** With the query, and without the prefix below which the server is mounted. */
  readonly path: string
  readonly headers?: Headers
  readonly body?: string
  readonly signal?: AbortSignal
}

/**
 * Calls a route of the project's app. A webhook with a relative URL is delivered this way. It never reaches a route of the
 * server, whatever the path: a client that may set a webhook must not get the server's rights.
 * @throws  the connection's error when the server stops
 */
export async function callOwnRoute(
  { loopback, appCredential }: Pick<OwnChannel, "loopback" | "appCredential">,
  request: OwnRequest,
): Promise<Response> {
  // Imported when needed: most servers never call themselves, and should not keep an HTTP client in memory.
  const { fetchOverSocket } = await import("@superstep/protocol/http/socket-fetch")
  const { headers: asked, body, ...rest } = request
  const headers = new Headers(asked)
  headers.delete(ticketHeader)
  headers.set(credentialHeader, appCredential)
  const bytes = body === undefined ? null : Buffer.from(body)
  return fetchOverSocket({ ...rest, socketPath: loopback.socket_path, headers, body: bytes })
}
