/**
 * Connections over which no request has come yet. Node limits the time of a request's head only from server to server, and
 * never their number; who opens connections and says nothing, or ends no TLS handshake, or sends a byte an hour, would
 * keep a socket each. Once a first head is complete a connection is not looked at any more: streams and bodies take as
 * long as they take, and the heads of later requests are limited by `headersTimeout`.
 */
import type { Server } from "node:http"
import type { Server as NetServer, Socket } from "node:net"

export interface FirstRequestLimits {
  /** From the connection to the end of its first request's head, its TLS handshake included. */
  readonly headMs: number
  /** How many may be without a request at a time; one more costs the oldest. Who means it needs milliseconds. */
  readonly most: number
}

// As long as Node's own limit for a head. A thousand that wait are an attack: they are 40 MB at most.
const usual: FirstRequestLimits = { headMs: 60_000, most: 1000 }

/**
 * @param accepting  what listens
 * @param answering  what reads HTTP from its connections; the same server where there is no front
 * @returns          what a server with upgrades calls for each: a listener of ours would have every one sent here
 */
export function limitFirstRequests(
  { accepting, answering }: { readonly accepting: NetServer; readonly answering: readonly Server[] },
  { headMs, most }: FirstRequestLimits = usual,
): (socket: Socket) => void {
  // In the order in which they came. A TLS socket is another object than the socket below it: both know their ends.
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
    // On a Unix socket the other end is one of ours.
    if (ends === undefined) return
    if (waiting.size >= most) cutOldest()
    const tooLate = setTimeout(() => socket.destroy(), headMs).unref()
    waiting.set(ends, { socket, tooLate })
    // By then its ends may belong to another connection.
    socket.once("close", () => waiting.get(ends)?.socket === socket && forget(ends))
  })
  const heard = (socket: Socket) => forget(endsOf(socket))
  for (const server of answering) server.prependListener("request", ({ socket }) => heard(socket))
  return heard
}

/** Both ends: a caller may use one port of its own for several addresses of ours. Undefined on a Unix socket. */
const endsOf = ({ remoteAddress, remotePort, localAddress }: Socket): string | undefined =>
  remotePort === undefined ? undefined : `${remoteAddress} ${remotePort} ${localAddress}`
