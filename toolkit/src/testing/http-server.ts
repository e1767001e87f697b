/** HTTP servers of one test, which end with it and cut what is still open. */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { temporaryFolder } from "./temporary-folder.js"

/** On a Unix socket. */
export async function socketServer(listener: RequestListener) {
  const socketPath = join(temporaryFolder(), "server.sock")
  return { socketPath, ...(await listening(listener, socketPath)) }
}

/** On a free port of this computer. */
export async function portServer(listener: RequestListener) {
  const started = await listening(listener, { host: "127.0.0.1", port: 0 })
  const { port } = started.server.address() as AddressInfo
  return { port, host: `127.0.0.1:${port}`, origin: `http://127.0.0.1:${port}`, ...started }
}

async function listening(listener: RequestListener, place: string | { host: string; port: number }) {
  const server = createServer(listener).listen(place)
  await once(server, "listening")
  const end = () => void server.close().closeAllConnections()
  return { server, [Symbol.dispose]: end, [Symbol.asyncDispose]: async () => end() }
}
