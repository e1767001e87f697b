/**
 * How long a server keeps an idle connection. Clients read the time from the header `Keep-Alive` and close their end a second
 * or two before. A client that gets no processor time at that moment is late: it sends its next request over a connection that
 * the server is closing, and the request fails. So a server waits longer than it announces.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"

// Behind a load balancer this must be longer than the balancer's own time, which is usually a minute.
const saidMs = 75_000
// On an overloaded machine a process may wait for seconds. Node 24.6 and later add one second themselves.
const lateMs = 15_000

/** Keeps idle connections of a server for the 75 s that it announces, and for 15 s more. */
export function keepIdleConnections(server: Server): void {
  server.keepAliveTimeout = saidMs
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    // Node's own listener was added before: it has set the time by now, unless the next request has arrived already.
    response.once("finish", () => {
      if (socket.timeout) socket.setTimeout(saidMs + lateMs)
    })
  })
}
