/**
 * Ignores offers to change the protocol, other than to WebSocket (RFC 9110 §7.8): such a request is an ordinary one. Java's HTTP client offers
 * HTTP/2 with its requests (`Upgrade: h2c`), and so does `curl --http2`. Node gives every request with `Upgrade` to the `upgrade` listeners once
 * there is one; its option against that (`shouldUpgradeCallback`) is missing before 22.21 and 24.9.
 *
 * Node drops what arrives in one packet behind such a request, with and without us. A client that offers a change waits for the answer.
 */
import { IncomingMessage, type ServerOptions } from "node:http"

class Incoming extends IncomingMessage {
  // Without an initial value: the parent's constructor sets it by `upgrade`.
  private declare wantsUpgrade: unknown

  /** Node's parser sets it before the headers, and reads it after them. A tunnel (CONNECT) is refused by Node. */
  get upgrade(): boolean {
    const { method, headers } = this
    if (!this.wantsUpgrade) return false
    return method === "CONNECT" || (method === "GET" && headers.upgrade?.toLowerCase() === "websocket")
  }
  set upgrade(value: unknown) {
    this.wantsUpgrade = value
  }
}

/** For a server whose `upgrade` listeners get only WebSocket handshakes: GET requests with `Upgrade: websocket`. */
export const upgradesOnlyWebSockets = { IncomingMessage: Incoming } satisfies ServerOptions
