/** HTTP servers of one test, which end with it and cut what is still open. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { temporaryFolder } from "./temporary-folder.js"

/** On a Unix socket. */
export async function socketServer(answer: Answer) {
  const socketPath = join(temporaryFolder(), "server.sock")
  return { socketPath, ...(await listening(answer, socketPath)) }
}

/** On a free port of this computer. */
export async function portServer(answer: Answer) {
  const started = await listening(answer, { host: "127.0.0.1", port: 0 })
  const { port } = started.server.address() as AddressInfo
  return { port, host: `127.0.0.1:${port}`, origin: `http://127.0.0.1:${port}`, ...started }
}

/** An answer may take time. A client that leaves meanwhile breaks it off, which is no failure of the test. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

/** @returns  a listener for whose failures, unless the client has left, the test fails */
export const listenerOf =
  (answer: Answer): RequestListener =>
  async (request, response) => {
    try {
      await answer(request, response)
    } catch (error) {
      if (!request.socket.destroyed) throw error
    }
  }

async function listening(answer: Answer, place: string | { host: string; port: number }) {
  const server = createServer(listenerOf(answer)).listen(place)
  await once(server, "listening")
  const end = () => void server.close().closeAllConnections()
  return { server, [Symbol.dispose]: end, [Symbol.asyncDispose]: async () => end() }
}
