import type { Socket } from "node:net"

/**
 * Resets a connection, as a network or a host does. A socket whose other end has closed is shutting down, and cannot be reset: Node 20 would
 * keep its handle, and the process would spin at its end. It is closed instead.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writable) socket.resetAndDestroy()
  else socket.destroy()
}
