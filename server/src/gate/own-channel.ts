/**
 * The server's own way to itself: a Unix socket in a folder that only this user can enter. What comes here is either the rest
 * of a request that the project's app passed on, which shows its ticket, or user code that calls the server that executes it,
 * which shows the credential of this server. Anything else is refused.
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
import type { Context } from "hono"
import { makeSocketFolder } from "../workers/worker-socket.js"
import type { FromListener, Origin, Ticket } from "./origin.js"

type Fetch = (request: Request, env: never) => Response | Promise<Response>

export interface OwnChannel {
  /** For workers, and for nobody else: their user code may call every route. */
  readonly loopback: Loopback
  /** What the server shows where it may reach routes of the app alone. */
  readonly appCredential: string
  /**
   * Answers at the socket.
   * @param mountPrefix  below which the routes are; user code need not know it
   */
  listen(fetch: Fetch, mountPrefix: string): Promise<void>
  /** Issues a ticket that holds until the reply is over. @returns its header's value, and the end of the reply */
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
      return found ? { from: "app", ticket: found } : nobody("the request that the app passes on is over")
    }
    if (isCredential(code, credential)) return { from: "own code", onlyApp: false }
    if (isCredential(code, appCredential)) return { from: "own code", onlyApp: true }
    return nobody("only code of this project may call here, through the SDK's client without an address")
  }

  return {
    loopback: { socket_path: socketPath, credential },
    appCredential,
    listen: async (fetch, mountPrefix) => {
      const withOrigin = (request: Request, env: FromListener) => {
        const origin = originOf(takeOwnHeaders(env.incoming))
        // What the app passes on has the whole path, as it came from the world.
        const isWhole = origin.from === "app" || mountPrefix === ""
        return fetch(isWhole ? request : below(mountPrefix, request), { ...env, origin } as never)
      }
      listening = await listen(withOrigin as never, { socketPath })
    },
    issue: (c, ticket) => {
      const value = signTicket(randomUUID(), credential)
      tickets.set(value, ticket)
      const { outgoing } = c.env as { outgoing: ServerResponse }
      const done = new Promise<void>((resolve) => {
        outgoing.once("close", () => {
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

const nobody = (problem: string): Origin => ({ from: "nobody", problem })

function below(mountPrefix: string, request: Request): Request {
  const url = new URL(request.url)
  url.pathname = `${mountPrefix}${url.pathname}`
  return new Request(url, request)
}

export interface OwnRequest {
  readonly method: string
  /** With its query, and without the prefix below which the server is mounted. */
  readonly path: string
  readonly headers?: Headers
  readonly body?: string
  readonly signal?: AbortSignal
}

/**
 * Calls a route of the project's app: how a webhook with a relative address is delivered. No route of the server's is
 * reached, whatever the path says: who may name a webhook is not the server.
 * @throws  what the connection says when the server stops
 */
export async function callOwnRoute(
  { loopback, appCredential }: Pick<OwnChannel, "loopback" | "appCredential">,
  request: OwnRequest,
): Promise<Response> {
  // Most servers never call themselves, and should not hold an HTTP client in memory.
  const { fetchOverSocket } = await import("@superstep/protocol/http/socket-fetch")
  const { headers: asked, body, ...rest } = request
  const headers = new Headers(asked)
  headers.delete(ticketHeader)
  headers.set(credentialHeader, appCredential)
  const bytes = body === undefined ? null : Buffer.from(body)
  return fetchOverSocket({ ...rest, socketPath: loopback.socket_path, headers, body: bytes })
}
