/**
 * A project's own HTTP app, on a Unix socket (agent-server-api §13.1). What it does not answer goes on to the server's
 * routes, from inside its middleware, which therefore wraps them: it sees their replies, streams included, and may change
 * what is asked of them.
 */
import { once } from "node:events"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { createAdaptorServer } from "@hono/node-server"
import { fetchOverSocket } from "@superstep/protocol/http/socket-fetch"

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

/** Tells the server which of its requests this is the rest of. */
const ticketHeader = "x-superstep-ticket"

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

/**
 * Listens until the process ends.
 * @param serverSocket  where the server answers what the app does not
 */
export async function listenForApp(app: FetchApp, socketPath: string, serverSocket: string): Promise<void> {
  const answer = isHono(app) ? wrapping(app, serverSocket) : inFrontOf(app, serverSocket)
  const fetch: FetchApp["fetch"] = (request, env) => answer(request, withUser(env))
  // The project's own `Request` and `Response` stay those of Node.
  const server = createAdaptorServer({ fetch: fetch as never, overrideGlobalObjects: false }) as Server
  server.requestTimeout = 0
  const listening = once(server, "listening")
  server.listen(socketPath)
  await listening
}

function withUser(env: Bindings): Bindings {
  const { "x-superstep-user": told } = env.incoming.headers
  if (typeof told !== "string") return env
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
  const headers = new Headers(asked)
  // The body may be another one by now.
  headers.delete("content-length")
  headers.set(ticketHeader, String(incoming.headers[ticketHeader] ?? ""))
  const { pathname, search } = new URL(url)
  return fetchOverSocket({ socketPath, method, path: `${pathname}${search}`, headers, body, signal: gone.signal })
}
