import type { IncomingMessage } from "node:http"
import { isTrusted } from "./config.js"
import type { Edge } from "./edge.js"
import { type Caller, plainAddress } from "./headers.js"

/** Who is at the other end of a request's connection. */
export function callerOf(edge: Edge, { socket }: IncomingMessage): Caller {
  // Undefined once the caller has hung up.
  const address = plainAddress(socket.remoteAddress ?? "unknown")
  return {
    address,
    isTrusted: isTrusted(edge.config.trustedProxies, address),
    protocol: "encrypted" in socket ? "https" : "http",
  }
}
