/**
 * Credentials of a browser's WebSocket. Pages cannot set headers there, so a credential comes as a subprotocol: the header's name, a dot
 * and its value in base64url, such as `x-api-key.c2VjcmV0`. It is removed from the list before other code sees it, and never accepted
 * or logged as a subprotocol.
 */
import type { IncomingMessage } from "node:http"

const names = ["x-api-key", "authorization", "x-auth-scheme"] as const

/**
 * Moves the credentials of a handshake into their headers, unless these are there. Call it before other code reads the headers.
 * @returns  the first of the other subprotocols: the one to accept
 */
export function takeSocketCredentials(incoming: IncomingMessage): string | undefined {
  const { headers, headersDistinct } = incoming
  const offered = (headers["sec-websocket-protocol"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
  const others = offered.filter((name) => !names.some((header) => name.startsWith(`${header}.`)))
  if (others.length === offered.length) return others[0]
  const raw = withoutProtocols(incoming.rawHeaders)
  for (const header of names) {
    const found = offered.find((name) => name.startsWith(`${header}.`))
    if (found === undefined || headers[header] !== undefined) continue
    const value = Buffer.from(found.slice(header.length + 1), "base64url").toString("latin1")
    // Control characters would end the header.
    if (!/^[\x20-\x7e]+$/.test(value)) continue
    headers[header] = value
    headersDistinct[header] = [value]
    raw.push(header, value)
  }
  delete headers["sec-websocket-protocol"]
  delete headersDistinct["sec-websocket-protocol"]
  if (others.length > 0) {
    headers["sec-websocket-protocol"] = others.join(", ")
    headersDistinct["sec-websocket-protocol"] = [others.join(", ")]
    raw.push("sec-websocket-protocol", others.join(", "))
  }
  incoming.rawHeaders = raw
  return others[0]
}

const withoutProtocols = (raw: readonly string[]): string[] =>
  raw.filter((_, at) => raw[at - (at % 2)]?.toLowerCase() !== "sec-websocket-protocol")
