/**
 * Access to the server for its user code: an SDK `Client` without `apiUrl` uses this `fetch`, and so calls the server that
 * executes it, with the rights of the server itself (agent-server-api §13.5).
 */
import { credentialHeader, isOwnHeader } from "@superstep/protocol/http/own-headers"
import type { Loopback } from "@superstep/protocol/worker/frames"

/** Call it before user code is imported. */
export function offerLoopback(loopback: Loopback): void {
  Object.assign(globalThis, { [Symbol.for("langgraph_api:fetch")]: loopbackFetch(loopback) })
}

/** A relative URL refers to this server; of an absolute one only the path is used. */
const loopbackFetch =
  ({ socket_path: socketPath, credential }: Loopback): typeof fetch =>
  async (input, init) => {
    // Imported when needed: most graphs never call the server, and their workers should not keep an HTTP client in memory.
    const { fetchOverSocket } = await import("@superstep/protocol/http/socket-fetch")
    const request = new Request(input instanceof Request ? input : new URL(String(input), "http://localhost"), init)
    const { method, body, signal } = request
    // User code may pass on headers of a client, and a client must not set our own headers.
    const headers = new Headers([...request.headers].filter(([name]) => !isOwnHeader(name)))
    headers.set(credentialHeader, credential)
    const { pathname, search } = new URL(request.url)
    return fetchOverSocket({ socketPath, method, path: `${pathname}${search}`, headers, body, signal })
  }
