/** Puts an app on a TCP address or a Unix socket, and takes it off again without cutting what is under way. */
import { chmod, rm } from "node:fs/promises"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { createAdaptorServer } from "@hono/node-server"
import { KnownError } from "../errors/errors.js"

export type ListenAddress =
  | { readonly host: string; readonly port: number }
  /** A path below 100 bytes: the kernel's limit is 108. */
  | { readonly socketPath: string }

export interface Listening {
  readonly server: Server
  /** The port that was given or chosen; undefined on a Unix socket. */
  readonly port: number | undefined
  /** Stops accepting and waits until open requests have ended, at most `graceMs`; then cuts them. */
  close(graceMs: number): Promise<void>
}

export class AddressInUse extends KnownError {
  readonly code = "address_in_use"
}

/**
 * @param fetch  an app's `fetch`, such as that of a Hono app
 * @throws AddressInUse  when another process has the port
 */
export async function listen(
  fetch: (request: Request, env: never) => Response | Promise<Response>,
  address: ListenAddress,
): Promise<Listening> {
  const server = createAdaptorServer({ fetch: fetch as never }) as Server
  // Streams stay open for hours and clients reuse connections: only idle sockets may time out.
  server.requestTimeout = 0
  server.keepAliveTimeout = 75_000
  await bind(server, address)
  const bound = server.address() as AddressInfo | string | null
  return {
    server,
    port: typeof bound === "object" && bound ? bound.port : undefined,
    close: (graceMs) => closeServer(server, graceMs),
  }
}

/** Binds a server of any kind. A socket file that a killed process left behind is replaced. */
export async function bind(server: Server, address: ListenAddress): Promise<void> {
  if ("socketPath" in address) await rm(address.socketPath, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE" || "socketPath" in address) return reject(error)
      reject(new AddressInUse(`port ${address.port} is in use: choose another with --port`))
    })
    if ("socketPath" in address) server.listen(address.socketPath, resolve)
    else server.listen(address.port, address.host, resolve)
  })
  // Who may connect is decided by the folder and by the credential that each request carries.
  if ("socketPath" in address) await chmod(address.socketPath, 0o666)
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearTimeout(cut)
}
