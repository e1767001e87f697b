/** The project's HTTP app in front of the server's routes (agent-server-api §13.1): it gets each request first. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { ticketHeader, userHeader } from "@superstep/protocol/http/own-headers"
import { NotFound, Unavailable } from "@superstep/toolkit/errors/errors"
import { toJsonText } from "@superstep/toolkit/http/json"
import { onceClosed } from "@superstep/toolkit/http/once-closed"
import type { Context, HonoRequest, MiddlewareHandler } from "hono"
import { anyone, type Caller, type User } from "../auth/caller.js"
import { addressOf, isLoopbackRequest } from "../http/access.js"
import type { FromListener, Origin } from "../http/origin.js"
import { isOutsideOfPrefix, spelledBelow } from "../http/paths.js"
import type { Upgrade } from "../http/upgrade.js"
import type { Gate } from "./gate.js"
import type { OwnChannel } from "./own-channel.js"

export interface AppInFront {
  readonly gate: Gate
  readonly channel: OwnChannel
  /** Identifies the caller, for a project with authentication before its app. */
  readonly identify: (c: Context) => Promise<Caller>
  /** Whether the server has a WebSocket at this path. */
  readonly hasSocketAt: (path: string) => boolean
  /** `http.mount_prefix`: the app's routes are below it too, and the app sees paths without it. */
  readonly mountPrefix: string
}

// The server answers these itself, whatever the app's process does: routes that a supervisor calls, and what is no route of either.
const isServerRoute = ({ path, method }: HonoRequest): boolean =>
  path === "/ok" || path.startsWith("/internal/") || isOutsideOfPrefix(path) || unforwardableMethods.test(method)

// A `Request` cannot have these methods, so they cannot be passed to the app.
const unforwardableMethods = /^(TRACE|TRACK|CONNECT)$/i

function isOnlyForApp(origin: Origin): boolean {
  if (origin.from === "app") return origin.ticket.onlyApp
  return origin.from === "own code" && origin.onlyApp
}

/** Passes requests to the app, if there is one. Requests that the app passes on come back over the server's own channel. */
export const serveThroughApp =
  ({ gate, channel, identify, hasSocketAt, mountPrefix }: AppInFront): MiddlewareHandler =>
  async (c, next) => {
    const origin = c.get("origin")
    const hasApp = gate.project?.app !== undefined && origin.from !== "app" && !isServerRoute(c.req)
    if (!hasApp && isOnlyForApp(origin)) throw new NotFound("Not Found")
    if (!hasApp) return next()
    const caller = origin.from === "own code" ? anyone : gate.project.authFirst ? await identify(c) : undefined
    const isOwn = origin.from === "own code"
    const onlyApp = isOnlyForApp(origin)
    const { upgrade, outgoing } = c.env as FromListener
    // The app gets the handshake of a WebSocket of the server as a GET request, so its middleware for HTTP applies (T10).
    const opensHere = upgrade !== undefined && hasSocketAt(c.req.path)
    const handshake = opensHere ? { handshake: { upgrade, outgoing } } : {}
    const [isLoopback, isConsole] = [isLoopbackRequest(c), c.get("isConsole") === true]
    const from = { isLoopback, address: addressOf(c), isConsole, seen: c.get("seen") }
    const ticket = { caller, ...from, isOwn, onlyApp, ...handshake }
    const { value, done } = channel.issue(c, ticket)
    const { pathname, search } = new URL(c.req.url)
    const path = `${spelledBelow(mountPrefix, pathname)}${search}`
    const passport = { path, ticket: value, user: caller?.user, ...(!opensHere && upgrade && { upgrade }) }
    return gate.withApp((socketPath) => passOn(c, socketPath, passport), done)
  }

interface Passport {
  /** With the query, and without the prefix below which the server is mounted. */
  readonly path: string
  readonly ticket: string
  /** Undefined when the caller has not been identified yet. */
  readonly user: User | undefined
  /** Where the connection goes when the app opens the WebSocket that the client asks for. */
  readonly upgrade?: Upgrade
}

async function passOn(c: Context, socketPath: string, { path, ticket, user, upgrade }: Passport): Promise<Response> {
  const { method, body } = c.req.raw
  const headers = new Headers(c.req.raw.headers)
  headers.set(ticketHeader, ticket)
  // Headers must be ASCII; names need not be.
  if (user) headers.set(userHeader, encodeURIComponent(toJsonText(user)))
  headers.set("x-request-id", c.get("requestId") ?? "")
  const gone = new AbortController()
  const { incoming, outgoing } = c.env as { incoming: IncomingMessage; outgoing: ServerResponse }
  onceClosed(outgoing, () => gone.abort())
  const said = incoming.headers["content-length"]
  const length = said === undefined ? undefined : Number(said)
  const onUpgrade = upgrade && ((answer: string[], peer: Duplex) => upgrade.carry(answer, peer))
  // Imported when needed: most projects have no app, and their servers should not keep an HTTP client in memory.
  const { fetchOverSocket } = await import("@superstep/protocol/http/socket-fetch")
  try {
    return await fetchOverSocket({ socketPath, method, path, headers, body, length, signal: gone.signal, onUpgrade })
  } catch (cause) {
    const { hasLargeHeaders } = await import("@superstep/protocol/http/forward")
    if (hasLargeHeaders(cause))
      throw new Unavailable("the project's app answered with headers above 16 KB: shorten them", 1000, { cause })
    throw new Unavailable("the project's app ended before it answered: try again in a moment", 1000, { cause })
  }
}
