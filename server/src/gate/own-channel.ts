/**
 * The server's own way to itself: a Unix socket in a folder that only this user can enter. What comes here is either the rest
 * of a request that the project's app passed on, known by its ticket, or user code that calls the server that executes it.
 */
import { randomUUID } from "node:crypto"
import { rm } from "node:fs/promises"
import type { ServerResponse } from "node:http"
import { dirname, join } from "node:path"
import { fetchOverSocket } from "@superstep/protocol/http/socket-fetch"
import { Forbidden } from "@superstep/toolkit/errors/errors"
import { type Listening, listen } from "@superstep/toolkit/http/listen"
import type { Context, MiddlewareHandler } from "hono"
import type { Caller } from "../auth/caller.js"
import { makeSocketFolder } from "../workers/worker-socket.js"

/** What is known of a request that is with the app. */
export interface Ticket {
  /** Undefined where it is found out when the app has passed the request on. */
  readonly caller: Caller | undefined
  /** Whether it came from this machine, and the address that it came from. */
  readonly isLoopback: boolean
  readonly address: string
  /** It is the server's own. */
  readonly isOwn: boolean
  /** It is for a route of the app's own, and for none of the server's. */
  readonly onlyApp: boolean
}

/** Where a request comes from: the world, user code of this project, or the app, which passes the world's requests on. */
export type Origin =
  | { readonly from: "outside" }
  | { readonly from: "own code"; readonly onlyApp: boolean }
  | { readonly from: "app"; readonly ticket: Ticket }

declare module "hono" {
  interface ContextVariableMap {
    origin: Origin
  }
}

export const ticketHeader = "x-superstep-ticket"
const onlyAppHeader = "x-superstep-only-app"

type Fetch = (request: Request, env: never) => Response | Promise<Response>

export interface OwnChannel {
  readonly socketPath: string
  /**
   * Answers at the socket.
   * @param mountPrefix  below which the routes are; user code need not know it
   */
  listen(fetch: Fetch, mountPrefix: string): Promise<void>
  /** Issues a ticket that holds until the reply is over. @returns its header's value, and the end of the reply */
  issue(c: Context, ticket: Ticket): { value: string; done: Promise<void> }
  find(value: string): Ticket | undefined
  close(): Promise<void>
}

export async function openOwnChannel(): Promise<OwnChannel> {
  const name = "server.sock"
  const socketPath = join(await makeSocketFolder("server", name), name)
  const tickets = new Map<string, Ticket>()
  let listening: Listening | undefined
  return {
    socketPath,
    listen: async (fetch, mountPrefix) => {
      // `env` is what the adapter gives: a request that came here says so where no client can.
      const marked = (request: Request, env: object) =>
        fetch(mountPrefix === "" ? request : below(mountPrefix, request), { ...env, isOwn: true } as never)
      listening = await listen(marked as never, { socketPath })
    },
    issue: (c, ticket) => {
      const value = randomUUID()
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
    find: (value) => tickets.get(value),
    close: async () => {
      await listening?.close(0)
      await rm(dirname(socketPath), { recursive: true, force: true })
    },
  }
}

/** What the app passes on has the whole path, as it came from the world. */
function below(mountPrefix: string, request: Request): Request {
  if (request.headers.has(ticketHeader)) return request
  const url = new URL(request.url)
  url.pathname = `${mountPrefix}${url.pathname}`
  return new Request(url, request)
}

/** Tells where each request comes from. */
export const tellOrigin =
  (channel: OwnChannel): MiddlewareHandler =>
  async (c, next) => {
    c.set("origin", originOf(c, channel))
    await next()
  }

function originOf(c: Context, channel: OwnChannel): Origin {
  if ((c.env as { isOwn?: boolean } | undefined)?.isOwn !== true) return { from: "outside" }
  const value = c.req.header(ticketHeader)
  if (value === undefined) return { from: "own code", onlyApp: c.req.header(onlyAppHeader) !== undefined }
  const ticket = channel.find(value)
  if (ticket === undefined) throw new Forbidden("the request that the app passes on is over")
  return { from: "app", ticket }
}

/** What only the world's requests must pass: the others have passed it, or are the server's own. */
export const fromOutside =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    c.get("origin").from === "outside" ? middleware(c, next) : next()

/** What counts for all but the server's own requests, once each. */
export const notOfOwnCode =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    c.get("origin").from === "own code" || ownsTicket(c) ? next() : middleware(c, next)

/** Whether the server's own request came back from the app. */
function ownsTicket(c: Context): boolean {
  const origin = c.get("origin")
  return origin.from === "app" && origin.ticket.isOwn
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
export const callOwnRoute = (channel: Pick<OwnChannel, "socketPath">, request: OwnRequest): Promise<Response> => {
  const { headers: asked, body, ...rest } = request
  const headers = new Headers(asked)
  headers.set(onlyAppHeader, "1")
  const bytes = body === undefined ? null : Buffer.from(body)
  return fetchOverSocket({ ...rest, socketPath: channel.socketPath, headers, body: bytes })
}
