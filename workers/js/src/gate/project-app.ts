/**
 * A project's own HTTP app, on a Unix socket (agent-server-api §13.1). Requests that it does not answer are forwarded to the
 * server's routes from inside its middleware. So the middleware wraps these routes: it sees their responses, including streams,
 * and may change their requests.
 */
import { once } from "node:events"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { createAdaptorServer } from "@hono/node-server"
import {
  isOwnHeader,
  isSignedTicket,
  type OwnHeaders,
  takeOwnHeaders,
  ticketHeader,
  userHeader,
} from "@superstep/protocol/http/own-headers"
import { fetchOverSocket } from "@superstep/protocol/http/socket-fetch"
import type { Loopback } from "@superstep/protocol/worker/frames"

/** The environment that the adapter gives an app. */
interface Bindings {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** The caller, if the server has authenticated the request before the app. */
  readonly auth?: { readonly user: object; readonly scopes: unknown }
}

interface FetchApp {
  fetch(request: Request, env: Bindings): Response | Promise<Response>
}

/** The part of Hono that we need, whichever copy the project has. */
interface HonoApp extends FetchApp {
  notFound(handler: (c: HonoContext) => Promise<Response>): unknown
}

interface HonoContext {
  readonly env: Bindings
  readonly req: { readonly raw: Request; arrayBuffer(): Promise<ArrayBuffer> }
  newResponse(body: ReadableStream | null, like: Response): Response
}

/** @throws  an error that describes what was exported instead of an app */
export function projectApp(exported: unknown, origin: string): FetchApp {
  if (
    typeof exported === "object" &&
    exported !== null &&
    "fetch" in exported &&
    typeof exported.fetch === "function"
  ) {
    return exported as FetchApp
  }
  throw new Error(`${origin} is not an HTTP app: export a Hono app, or an object with a function \`fetch\``)
}

/** The tickets of the app's present requests. The app's own code cannot see them. */
const tickets = new WeakMap<IncomingMessage, string>()

/**
 * Listens until the process ends. Only requests of the server are answered: the app may rely on what the server has determined
 * about them, so no other process may send one.
 * @param loopback  the server's socket for requests that the app does not answer, and the credential that signs its tickets
 */
export async function listenForApp(
  app: FetchApp,
  socketPath: string,
  { socket_path, credential }: Loopback,
): Promise<Server> {
  const answer = isHono(app) ? wrapping(app, socket_path) : inFrontOf(app, socket_path)
  const fetch: FetchApp["fetch"] = (request, env) => {
    const own = takeOwnHeaders(env.incoming)
    const ticket = own.get(ticketHeader)
    if (!isSignedTicket(ticket, credential))
      return new Response("this app accepts only requests from its own server", { status: 403 })
    tickets.set(env.incoming, ticket)
    return answer(request, withUser(env, own))
  }
  // For the project, `Request` and `Response` stay Node's own classes.
  const server = createAdaptorServer({ fetch: fetch as never, overrideGlobalObjects: false }) as Server
  server.requestTimeout = 0
  const listening = once(server, "listening")
  server.listen(socketPath)
  await listening
  return server
}

function withUser(env: Bindings, own: OwnHeaders): Bindings {
  const told = own.get(userHeader)
  if (told === undefined) return env
  const user = JSON.parse(decodeURIComponent(told))
  return { ...env, auth: { user, scopes: user.permissions } }
}

const isHono = (app: FetchApp): app is HonoApp => "notFound" in app && typeof app.notFound === "function"

/** Hono calls `notFound` from inside the middleware. */
function wrapping(app: HonoApp, serverSocket: string): FetchApp["fetch"] {
  app.notFound(async (c) => {
    if (asksForSocket(c.env)) return refuseSocket()
    const response = await onward(serverSocket, c.req.raw, c.env, await bodyOf(c.req))
    // Created by the context, which adds the headers that a middleware has set so far.
    return c.newResponse(response.body, response)
  })
  return (request, env) => app.fetch(request, env)
}

/** For any other app, a 404 is the only sign that it has no such route; it cannot wrap the server's routes. */
const inFrontOf =
  (app: FetchApp, serverSocket: string): FetchApp["fetch"] =>
  async (request, env) => {
    const body = hasBody(request) ? new Uint8Array(await request.arrayBuffer()) : null
    const { method, headers, url } = request
    const response = await app.fetch(new Request(url, { method, headers, body }), env)
    if (response.status !== 404) return response
    await response.body?.cancel()
    if (asksForSocket(env)) return refuseSocket()
    return onward(serverSocket, request, env, body)
  }

// The server passes on the handshake of a WebSocket only if it has none at this path itself.
const asksForSocket = ({ incoming }: Bindings): boolean => incoming.headers.upgrade?.toLowerCase() === "websocket"

/** Hono opens WebSockets only with the adapter of a server that the project starts itself. */
function refuseSocket(): Response {
  const detail =
    "an app in JavaScript cannot open a WebSocket: stream a response instead, such as server-sent events, or write the app in Python"
  return Response.json(
    { detail, code: "websocket_of_app", doc_url: "docs/errors.md#websocket_of_app" },
    { status: 501 },
  )
}

/** A middleware that has read the body may have changed Hono's cached body, or have set a new request. */
async function bodyOf(req: HonoContext["req"]): Promise<Uint8Array | ReadableStream | null> {
  if (!hasBody(req.raw)) return null
  return req.raw.bodyUsed ? new Uint8Array(await req.arrayBuffer()) : req.raw.body
}

const hasBody = ({ method }: Request): boolean => method !== "GET" && method !== "HEAD"

async function onward(
  socketPath: string,
  { url, method, headers: asked }: Request,
  { incoming, outgoing }: Bindings,
  body: Uint8Array | ReadableStream | null,
): Promise<Response> {
  const gone = new AbortController()
  // When the client disconnects, its request is aborted, also before there is a response.
  outgoing.once("close", () => gone.abort())
  // A middleware may set any header except our own.
  const headers = new Headers([...asked].filter(([name]) => !isOwnHeader(name)))
  headers.set(ticketHeader, tickets.get(incoming) ?? "")
  const { pathname, search } = new URL(url)
  try {
    return await fetchOverSocket({
      socketPath,
      method,
      path: `${pathname}${search}`,
      headers,
      body,
      signal: gone.signal,
    })
  } catch (error) {
    if (gone.signal.aborted) throw error
    // It stops. Otherwise the app would reply with 500, after which no client tries again.
    const detail = "the agent server closed the connection: try again in a moment"
    const body = { detail, code: "unavailable", doc_url: "docs/errors.md#unavailable" }
    return Response.json(body, { status: 503, headers: { "retry-after": "1" } })
  }
}
