/**
 * The server's own address for user code: an SDK `Client` without `apiUrl` finds this `fetch` and so reaches the server
 * that executes it, as the server itself (agent-server-api §13.5).
 */

/** Called before user code is imported. */
export function offerLoopback(socketPath: string): void {
  Object.assign(globalThis, { [Symbol.for("langgraph_api:fetch")]: loopbackFetch(socketPath) })
}

/** A relative address is one of this server; of any other only the path counts. */
const loopbackFetch =
  (socketPath: string): typeof fetch =>
  async (input, init) => {
    // Most graphs never ask, and their workers should not hold an HTTP client in memory.
    const { fetchOverSocket } = await import("@superstep/protocol/http/socket-fetch")
    const request = new Request(input instanceof Request ? input : new URL(String(input), "http://localhost"), init)
    const { method, headers, body, signal } = request
    const { pathname, search } = new URL(request.url)
    return fetchOverSocket({ socketPath, method, path: `${pathname}${search}`, headers, body, signal })
  }
