/**
 * The server's own address for user code: an SDK `Client` without `apiUrl` finds this `fetch` and so reaches the server
 * that executes it, as the server itself (agent-server-api §13.5).
 */
import { credentialHeader, isOwnHeader } from "@superstep/protocol/http/own-headers"
import type { Loopback } from "@superstep/protocol/worker/frames"

/** Called before user code is imported. */
export function offerLoopback(loopback: Loopback): void {
  Object.assign(globalThis, { [Symbol.for("langgraph_api:fetch")]: loopbackFetch(loopback) })
}

/** A relative address is one of this server; of any other only the path counts. */
const loopbackFetch =
  ({ socket_path: socketPath, credential }: Loopback): typeof fetch =>
  async (input, init) => {
    // Most graphs never ask, and their workers should not hold an HTTP client in memory.
    const { fetchOverSocket } = await import("@superstep/protocol/http/socket-fetch")
    const request = new Request(input instanceof Request ? input : new URL(String(input), "http://localhost"), init)
    const { method, body, signal } = request
    // User code may pass on what a guest sent, and a guest does not speak for us.
    const headers = new Headers([...request.headers].filter(([name]) => !isOwnHeader(name)))
    headers.set(credentialHeader, credential)
    const { pathname, search } = new URL(request.url)
    return fetchOverSocket({ socketPath, method, path: `${pathname}${search}`, headers, body, signal })
  }
