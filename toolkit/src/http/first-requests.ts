/**
 * Limits connections without a first request. Node limits the time of a request's head only per server, and never the number
 * of connections; callers that connect and send nothing, or complete no TLS handshake, or send a byte an hour, would each keep
 * a socket. Once the first head is complete a connection is not limited here any more: streams and bodies have no time
 * limit, and the heads of later requests are limited by `headersTimeout`.
 */
import type { Server } from "node:http"
import type { Server as NetServer, Socket } from "node:net"

export interface FirstRequestLimits {
  /** From the connection to the end of its first request's head, including its TLS handshake. */
  readonly headMs: number
  /** Most connections without a request at a time; one more closes the oldest. A normal caller needs milliseconds. */
  readonly most: number
}

// The same as Node's own limit for a head. A thousand that wait are an attack, and use 40 MB at most.
const usual: FirstRequestLimits = { headMs: 60_000, most: 1000 }

/**
 * @param accepting  the server that listens
 * @param answering  the servers that read HTTP from its connections; the same one where there is no front
 * @returns          to be called by a server for each upgrade: a listener of ours would receive every one
 */
export function limitFirstRequests(
  { accepting, answering }: { readonly accepting: NetServer; readonly answering: readonly Server[] },
  { headMs, most }: FirstRequestLimits = usual,
): (socket: Socket) => void {
  // In the order of arrival. A TLS socket is another object than the socket below it, but both have the same addresses.
  const waiting = new Map<string, { readonly socket: Socket; readonly tooLate: NodeJS.Timeout }>()
  const forget = (ends = "") => {
    clearTimeout(waiting.get(ends)?.tooLate)
    waiting.delete(ends)
  }
  const cutOldest = () => {
    const [oldest] = waiting
    forget(oldest?.[0])
    oldest?.[1].socket.destroy()
  }
  accepting.on("connection", (socket: Socket) => {
    const ends = endsOf(socket)
    // The peer on a Unix socket is one of our processes.
    if (ends === undefined) return
    if (waiting.size >= most) cutOldest()
    const tooLate = setTimeout(() => socket.destroy(), headMs).unref()
    waiting.set(ends, { socket, tooLate })
    // By then the addresses may belong to another connection.
    socket.once("close", () => waiting.get(ends)?.socket === socket && forget(ends))
  })
  const heard = (socket: Socket) => forget(endsOf(socket))
  for (const server of answering) server.prependListener("request", ({ socket }) => heard(socket))
  return heard
}

/** Both addresses: a caller may use one port of its own for several addresses of ours. Undefined on a Unix socket. */
const endsOf = ({ remoteAddress, remotePort, localAddress }: Socket): string | undefined =>
  remotePort === undefined ? undefined : `${remoteAddress} ${remotePort} ${localAddress}`
