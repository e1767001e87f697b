import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { isTrusted, plainAddress } from "@superstep/toolkit/http/trusted-proxies"
import type { Edge } from "./edge.js"
import type { Caller } from "./headers.js"

// The peer of a connection is the same for all its requests.
const known = new WeakMap<Socket, Caller>()

/** The peer of a request's connection. */
export function callerOf(edge: Edge, { socket }: IncomingMessage): Caller {
  const found = known.get(socket)
  if (found) return found
  // Undefined once the caller has hung up.
  const address = plainAddress(socket.remoteAddress ?? "unknown")
  const caller: Caller = {
    address,
    isTrusted: isTrusted(edge.config.trustedProxies, address),
    protocol: "encrypted" in socket ? "https" : "http",
  }
  known.set(socket, caller)
  return caller
}
