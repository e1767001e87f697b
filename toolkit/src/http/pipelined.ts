import type { IncomingMessage, Server, ServerResponse } from "node:http"

/**
 * Closes the responses of a connection that has closed, also those of requests that the client sent behind another one (pipelining). Node
 * gives such a response the connection when it is its turn. If the connection closes before, the response would hear nothing, and what is
 * counted or kept until its end would stay for ever.
 */
export function closePipelined(server: Server): void {
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (response.socket) return
    const onClose = () => void response.destroy().emit("close")
    // One for each request that waits.
    socket.setMaxListeners(0).once("close", onClose)
    response.once("socket", () => socket.off("close", onClose))
  })
}
