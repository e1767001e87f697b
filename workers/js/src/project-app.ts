/**
 * A project's own HTTP app, on a Unix socket (agent-server-api §13.1). What it does not answer goes on to the server's
 * routes, from inside its middleware, which therefore wraps them: it sees their replies, streams included, and may change
 * what is asked of them.
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

/** What the adapter gives an app as its environment. */
interface Bindings {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Who calls, where the server has found that out before the app. */
  readonly auth?: { readonly user: object; readonly scopes: unknown }
}

interface FetchApp {
  fetch(request: Request, env: Bindings): Response | Promise<Response>
}

/** What we need of Hono, whichever copy the project has. */
interface HonoApp extends FetchApp {
  notFound(handler: (c: HonoContext) => Promise<Response>): unknown
}

interface HonoContext {
  readonly env: Bindings
  readonly req: { readonly raw: Request; arrayBuffer(): Promise<ArrayBuffer> }
  newResponse(body: ReadableStream | null, like: Response): Response
}

/** @throws  an error that says what was found instead of an app */
export function projectApp(exported: unknown, origin: string): FetchApp {
  if (
    typeof exported === "object" &&
    exported !== null &&
    "fetch" in exported &&
    typeof exported.fetch === "function"
  ) {
    return exported as FetchApp
  }
  throw new Error(`${origin} is no HTTP app: export a Hono app, or an object with a function \`fetch\``)
}

/** The tickets of the requests that the app has at the moment: the app's own code does not see them. */
const tickets = new WeakMap<IncomingMessage, string>()

/**
 * Listens until the process ends. Only the server's requests are answered: the app may rely on what the server has found
 * out about them, so nobody else may bring it one.
 * @param loopback  where the server answers what the app does not, and the credential that signs its tickets
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
      return new Response("this app answers only its own server", { status: 403 })
    tickets.set(env.incoming, ticket)
    return answer(request, withUser(env, own))
  }
  // The project's own `Request` and `Response` stay those of Node.
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

/** Hono asks `notFound` from inside the middleware. */
function wrapping(app: HonoApp, serverSocket: string): FetchApp["fetch"] {
  app.notFound(async (c) => {
    const response = await onward(serverSocket, c.req.raw, c.env, await bodyOf(c.req))
    // Made by the context, which adds the headers that a middleware has set so far.
    return c.newResponse(response.body, response)
  })
  return (request, env) => app.fetch(request, env)
}

/** Of any other app a 404 is all that says it has no such route; nothing of it can wrap the server's own. */
const inFrontOf =
  (app: FetchApp, serverSocket: string): FetchApp["fetch"] =>
  async (request, env) => {
    const body = hasBody(request) ? new Uint8Array(await request.arrayBuffer()) : null
    const { method, headers, url } = request
    const response = await app.fetch(new Request(url, { method, headers, body }), env)
    if (response.status !== 404) return response
    await response.body?.cancel()
    return onward(serverSocket, request, env, body)
  }

/** A middleware that has read the body may have changed what Hono remembers of it, or have put a new request in place. */
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
  // A client that leaves takes what is done for it along, before there is a reply too.
  outgoing.once("close", () => gone.abort())
  // A middleware may have set any header, but none that speaks for us.
  const headers = new Headers([...asked].filter(([name]) => !isOwnHeader(name)))
  headers.set(ticketHeader, tickets.get(incoming) ?? "")
  const { pathname, search } = new URL(url)
  return fetchOverSocket({ socketPath, method, path: `${pathname}${search}`, headers, body, signal: gone.signal })
}
