/** The project's HTTP app in front of the server's routes (agent-server-api §13.1): it gets each request first. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { ticketHeader, userHeader } from "@superstep/protocol/http/own-headers"
import { NotFound, NotSupported, Unavailable } from "@superstep/toolkit/errors/errors"
import type { Context, HonoRequest, MiddlewareHandler, NotFoundHandler } from "hono"
import { anyone, type Caller, type User } from "../auth/caller.js"
import { addressOf, isLoopbackRequest } from "../http/access.js"
import type { Gate } from "./gate.js"
import type { FromListener, Origin } from "./origin.js"
import type { OwnChannel } from "./own-channel.js"

export interface AppInFront {
  readonly gate: Gate
  readonly channel: OwnChannel
  /** Identifies the caller, for a project with authentication before its app. */
  readonly identify: (c: Context) => Promise<Caller>
}

// A supervisor calls these routes, so the server answers them itself, whatever the app's process does.
const isServerRoute = ({ path, method }: HonoRequest): boolean =>
  path === "/ok" || path.startsWith("/internal/") || unforwardableMethods.test(method)

// A `Request` cannot have these methods, so they cannot be passed to the app.
const unforwardableMethods = /^(TRACE|TRACK|CONNECT)$/i

function isOnlyForApp(origin: Origin): boolean {
  if (origin.from === "app") return origin.ticket.onlyApp
  return origin.from === "own code" && origin.onlyApp
}

/** Passes requests to the app, if there is one. Requests that the app passes on come back over the server's own channel. */
export const serveThroughApp =
  ({ gate, channel, identify }: AppInFront): MiddlewareHandler =>
  async (c, next) => {
    const origin = c.get("origin")
    const hasApp = gate.project?.app !== undefined && origin.from !== "app" && !isServerRoute(c.req)
    if (!hasApp && isOnlyForApp(origin)) throw new NotFound("Not Found")
    if (!hasApp) return next()
    const caller = origin.from === "own code" ? anyone : gate.project.authFirst ? await identify(c) : undefined
    const isOwn = origin.from === "own code"
    const onlyApp = isOnlyForApp(origin)
    const { upgrade, outgoing } = c.env as FromListener
    const handshake = upgrade === undefined ? {} : { handshake: { upgrade, outgoing } }
    const ticket = { caller, isLoopback: isLoopbackRequest(c), address: addressOf(c), isOwn, onlyApp, ...handshake }
    const { value, done } = channel.issue(c, ticket)
    return gate.withApp((socketPath) => passOn(c, socketPath, { ticket: value, user: caller?.user }), done)
  }

/** The reply to a request that neither the app nor the server has a route for. @throws NotSupported  it asks for a WebSocket of the app */
export const refuseSocketOfApp =
  (otherwise: NotFoundHandler): NotFoundHandler =>
  (c) => {
    const { origin, upgrade } = c.env as FromListener
    if (origin?.from !== "app" || upgrade === undefined) return otherwise(c)
    throw new NotSupported(
      "a WebSocket of http.app cannot be opened: the app gets HTTP requests only. Stream a response instead, such as server-sent events",
      "websocket_of_app",
    )
  }

interface Passport {
  readonly ticket: string
  /** Undefined when the caller has not been identified yet. */
  readonly user: User | undefined
}

async function passOn(c: Context, socketPath: string, { ticket, user }: Passport): Promise<Response> {
  const { method, body } = c.req.raw
  const { pathname, search } = new URL(c.req.url)
  const headers = new Headers(c.req.raw.headers)
  headers.set(ticketHeader, ticket)
  // Headers must be ASCII; names need not be.
  if (user) headers.set(userHeader, encodeURIComponent(JSON.stringify(user)))
  headers.set("x-request-id", c.res.headers.get("x-request-id") ?? "")
  const gone = new AbortController()
  const { incoming, outgoing } = c.env as { incoming: IncomingMessage; outgoing: ServerResponse }
  outgoing.once("close", () => gone.abort())
  const said = incoming.headers["content-length"]
  const length = said === undefined ? undefined : Number(said)
  const path = `${pathname}${search}`
  // Imported when needed: most projects have no app, and their servers should not keep an HTTP client in memory.
  const { fetchOverSocket } = await import("@superstep/protocol/http/socket-fetch")
  try {
    return await fetchOverSocket({ socketPath, method, path, headers, body, length, signal: gone.signal })
  } catch (cause) {
    throw new Unavailable("the project's app ended before it answered: try again in a moment", 1000, { cause })
  }
}
