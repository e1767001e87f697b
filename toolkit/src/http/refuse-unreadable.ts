/** Replies 400 to malformed HTTP, in the same form as any other refusal; an app never sees it. */
import { randomUUID } from "node:crypto"
import type { Duplex } from "node:stream"
import { errorBody } from "./error-body.js"

const refusals: Readonly<Record<string, readonly [string, (headerKb: number) => string]>> = {
  HPE_HEADER_OVERFLOW: [
    "431 Request Header Fields Too Large",
    (headerKb) => `the address and headers of a request are limited to ${headerKb} KB`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", () => "the request did not arrive in time"],
}

/**
 * For a server's event `clientError`.
 * @param headerKb  the server's `maxHeaderSize`
 */
export const refuseUnreadable =
  (headerKb: number) =>
  (error: NodeJS.ErrnoException, socket: Duplex): void => {
    const { _httpMessage: reply } = socket as { _httpMessage?: { headersSent: boolean } }
    if (!socket.writable || reply?.headersSent) {
      socket.destroy()
      return
    }
    const [status, words] = refusals[error.code ?? ""] ?? [
      "400 Bad Request",
      () => `the request is not HTTP: ${error.message}`,
    ]
    const requestId = randomUUID()
    const body = JSON.stringify(errorBody(words(headerKb), "bad_request", requestId))
    const head = [
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      "connection: close",
    ]
    socket.end(`HTTP/1.1 ${status}\r\n${head.join("\r\n")}\r\n\r\n${body}`)
  }
