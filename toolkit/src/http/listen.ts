/** Serves an app on a TCP address or a Unix socket, and stops it without cutting requests under way. */
import { once } from "node:events"
import { lstat, rm } from "node:fs/promises"
import { type IncomingMessage, maxHeaderSize, type Server } from "node:http"
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https"
import { type AddressInfo, connect, type Server as NetServer, type Socket } from "node:net"
import { createAdaptorServer } from "@hono/node-server"
import { KnownError } from "../errors/errors.js"
import { ifCode, missing } from "../errors/if-code.js"
import type { Log } from "../log/log.js"
import { limitFirstRequests } from "./first-requests.js"
import { keepIdleConnections } from "./keep-alive.js"
import { closePipelined } from "./pipelined.js"
import { refuseUnreadable } from "./refuse-unreadable.js"
import { secureFront } from "./secure-front.js"
import { followTlsFiles, readTlsFiles, type TlsFiles } from "./tls-files.js"
import { upgradesOnlyWebSockets } from "./websocket-handshakes.js"

export type ListenAddress =
  | { readonly host: string; readonly port: number }
  /** A path below 100 bytes: the kernel's limit is 108. */
  | { readonly socketPath: string }
  /** A socket that another process has bound and passed to this one (`bound-socket.ts`). */
  | { readonly descriptor: number }

export interface Listening {
  /** Undefined with HTTPS. */
  readonly server?: Server
  /** The given or chosen port; undefined on a Unix socket. */
  readonly port: number | undefined
  /** Gives every WebSocket handshake to a listener, which must answer it; without one they are ordinary requests. Undefined with HTTPS. */
  onUpgrade?(listener: UpgradeListener): void
  /** Stops accepting and waits until open requests have ended, at most `graceMs`; then cuts them. */
  close(graceMs: number): Promise<void>
}

/** @param early  what the client sent after its head */
export type UpgradeListener = (incoming: IncomingMessage, socket: Socket, early: Buffer) => void

export class AddressInUse extends KnownError {
  readonly code = "address_in_use"
}

/**
 * @param fetch  an app's `fetch`, such as that of a Hono app
 * @param tls    speaks HTTPS, with the present content of these files; plain HTTP is answered only to this machine
 * @throws AddressInUse         when another process listens there
 * @throws UnusableCertificate  the files cannot be used
 */
export async function listen(
  fetch: (request: Request, env: never) => Response | Promise<Response>,
  address: ListenAddress,
  tls?: { readonly files: TlsFiles; readonly log: Log },
): Promise<Listening> {
  const server = createAdaptorServer({ fetch: fetch as never, serverOptions: upgradesOnlyWebSockets }) as Server
  configure(server)
  if (tls) return listenSecurely({ fetch, plain: server, address, tls })
  const heard = limitFirstRequests({ accepting: server, answering: [server] })
  await bind(server, address)
  const bound = server.address() as AddressInfo | string | null
  return {
    server,
    port: typeof bound === "object" && bound ? bound.port : undefined,
    onUpgrade: (listener) => {
      server.on("upgrade", (incoming: IncomingMessage, socket: Socket, early: Buffer) => {
        heard(socket)
        listener(incoming, socket, early)
      })
    },
    close: (graceMs) => closeServer(server, graceMs),
  }
}

function configure(server: Server): void {
  // Streams stay open for hours and clients reuse connections: only idle sockets may time out.
  server.requestTimeout = 0
  keepIdleConnections(server)
  closePipelined(server)
  // Node's own limit for a head.
  server.on("clientError", refuseUnreadable(maxHeaderSize / 1024))
}

type Fetch = Parameters<typeof listen>[0]

async function listenSecurely(input: {
  readonly fetch: Fetch
  readonly plain: Server
  readonly address: ListenAddress
  readonly tls: { readonly files: TlsFiles; readonly log: Log }
}): Promise<Listening> {
  const { fetch, plain, address, tls } = input
  const serverOptions = readTlsFiles(tls.files)
  const secure = createAdaptorServer({
    fetch: fetch as never,
    createServer: createHttpsServer,
    serverOptions,
  }) as Server
  configure(secure)
  const front = secureFront({ plain, secure })
  await bind(front.server, address)
  const stopFollowing = followTlsFiles(secure as unknown as HttpsServer, tls.files, tls.log)
  const bound = front.server.address() as AddressInfo | string | null
  const close = async (graceMs: number) => {
    stopFollowing()
    await front.close(graceMs)
  }
  return { port: typeof bound === "object" && bound ? bound.port : undefined, close }
}

/**
 * Binds a server of any kind. Replaces the socket file of a killed process.
 * @throws AddressInUse  when another process listens there
 */
export async function bind(server: NetServer, address: ListenAddress): Promise<void> {
  if ("socketPath" in address) await removeDeadSocket(address.socketPath)
  await tryBind(server, address)
}

// Read and write for all: the folder and the credential of each request decide which process may connect.
const socketMask = 0o111

/** Node creates the socket before `listen` returns. Later its mode may be somebody else's to change: a machine takes over sockets that it finds. */
function listenOnSocket(server: NetServer, path: string, backlog: number): void {
  const before = process.umask(socketMask)
  try {
    server.listen({ path, backlog })
  } finally {
    process.umask(before)
  }
}

// Most connections that wait to be accepted. A burst may come while the process gets no processor time, and on a Unix socket a
// connection is refused at once when the queue is full. The kernel's own limit (somaxconn) is the same on most machines.
export const waitingConnections = 4096

async function tryBind(server: NetServer, address: ListenAddress): Promise<void> {
  const backlog = waitingConnections
  try {
    const listening = once(server, "listening")
    if ("socketPath" in address) listenOnSocket(server, address.socketPath, backlog)
    // Node accepts the backlog for a descriptor only as a separate argument.
    else if ("descriptor" in address) server.listen({ fd: address.descriptor }, backlog)
    else server.listen({ port: address.port, host: address.host, backlog })
    await listening
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EADDRINUSE") throw cause
    if ("socketPath" in address) throw new AddressInUse(`another process listens on ${address.socketPath}`, { cause })
    if ("descriptor" in address) throw cause
    throw new AddressInUse(`port ${address.port} is in use: choose another with --port`, { cause })
  }
}

/** A socket file outlives a killed process; it is dead only when nobody answers there. */
async function removeDeadSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(ifCode(missing))
  if (!found?.isSocket()) return
  const probe = connect(path)
  try {
    await once(probe, "connect")
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ECONNREFUSED") await rm(path, { force: true })
    else if (code !== "ENOENT") throw error
  } finally {
    probe.destroy()
  }
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // A connection that answers its last request now would be kept open for the next one: it becomes idle after `close`.
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  const cut = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearInterval(sweep)
  clearTimeout(cut)
}
