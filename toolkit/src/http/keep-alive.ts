/**
 * How long a server keeps a connection over which no request comes. Clients read the time in the header `Keep-Alive` and close
 * their end a second or two before it is over. A client that gets no processor at that moment does so too late: it sends its
 * next request over a connection that the server is closing, and that request fails. So a server waits longer than it says.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"

// Behind a load balancer this must be longer than its own time, which is a minute for most.
const saidMs = 75_000
// A machine with too much to do lets a process wait for seconds. Node 24.6 and later add one second by themselves.
const lateMs = 15_000

/** Keeps idle connections of a server for 75 s as it tells its clients, and for 15 s more. */
export function keepIdleConnections(server: Server): void {
  server.keepAliveTimeout = saidMs
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    // Node's own listener was added before: it has set the time by now, unless the next request is there already.
    response.once("finish", () => {
      if (socket.timeout) socket.setTimeout(saidMs + lateMs)
    })
  })
}
