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
  /** Whether it came from this machine. */
  readonly isLoopback: boolean
}

/** Where a request comes from: the world, user code of this project, or the app, which passes the world's requests on. */
export type Origin = { readonly from: "outside" | "own code" } | { readonly from: "app"; readonly ticket: Ticket }

declare module "hono" {
  interface ContextVariableMap {
    origin: Origin
  }
}

export const ticketHeader = "x-superstep-ticket"

type Fetch = (request: Request, env: never) => Response | Promise<Response>

export interface OwnChannel {
  readonly socketPath: string
  /** Answers at the socket. */
  listen(fetch: Fetch): Promise<void>
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
    listen: async (fetch) => {
      // `env` is what the adapter gives: a request that came here says so where no client can.
      const marked = (request: Request, env: object) => fetch(request, { ...env, isOwn: true } as never)
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
  if (value === undefined) return { from: "own code" }
  const ticket = channel.find(value)
  if (ticket === undefined) throw new Forbidden("the request that the app passes on is over")
  return { from: "app", ticket }
}

/** What only the world's requests must pass: the others have passed it, or are the server's own. */
export const fromOutside =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    c.get("origin").from === "outside" ? middleware(c, next) : next()

export interface OwnRequest {
  readonly method: string
  /** With its query, and without the prefix below which the server is mounted. */
  readonly path: string
  readonly headers?: Headers
  readonly body?: string
  readonly signal?: AbortSignal
}

/**
 * Calls this server as itself, custom routes included: how a webhook with a relative address is delivered.
 * @throws  what the connection says when the server stops
 */
export const callSelf = (channel: Pick<OwnChannel, "socketPath">, request: OwnRequest): Promise<Response> => {
  const { headers = new Headers(), body, ...rest } = request
  const bytes = body === undefined ? null : Buffer.from(body)
  return fetchOverSocket({ ...rest, socketPath: channel.socketPath, headers, body: bytes })
}
