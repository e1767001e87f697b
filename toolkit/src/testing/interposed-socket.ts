/**
 * A proxy in the place of a Unix socket, between processes that do not know of it: the socket moves to another name, and the proxy
 * takes its name. It cuts a connection in the middle of what is sent, or drops one direction for good.
 */
import { once } from "node:events"
import { rename } from "node:fs/promises"
import { connect, createServer, type Socket } from "node:net"
import { type Aim, ArmedFault } from "./armed-fault.js"

/** What happens once, to the next piece of at least so many bytes that is sent in this direction. Half of the piece arrives. */
export interface SocketFault {
  /** `cut`: then both ends hear that the connection is closed. `swallow`: then nothing more arrives in this direction, and neither end hears of it. */
  readonly kind: "cut" | "swallow"
  readonly direction: "to server" | "to client"
  /** At least 2. */
  readonly bytes: number
}

export interface InterposedSocket extends AsyncDisposable {
  /** How many connections go through the proxy at the moment. */
  readonly connections: number
  /** Waits for the fault's moment, on any connection of the sockets that share `aims`. */
  aim(fault: SocketFault): Aim
}

type Direction = SocketFault["direction"]

/** Faults that wait for their moment. */
export type SocketAims = Set<ArmedFault<SocketFault>>

/**
 * @param path  a socket on which a process listens; connections that are open already stay as they are
 * @param aims  given to several sockets, when a fault may hit whichever is used next
 */
export async function interposeSocket(path: string, aims: SocketAims = new Set()): Promise<InterposedSocket> {
  const real = `${path}.real`
  const open = new Set<Socket>()
  await rename(path, real)
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ path: real, allowHalfOpen: true })
    const ends = { "to server": server, "to client": client } as const
    const close = () => {
      for (const socket of Object.values(ends)) socket.destroy()
      open.delete(client)
    }
    open.add(client)
    for (const socket of Object.values(ends)) socket.on("error", () => undefined).on("close", close)
    forward({ from: client, to: server, direction: "to server", aims, close })
    forward({ from: server, to: client, direction: "to client", aims, close })
  })
  listener.listen(path)
  await once(listener, "listening")
  return {
    get connections() {
      return open.size
    },
    aim: (fault) => new ArmedFault(fault, aims),
    [Symbol.asyncDispose]: async () => {
      const closed = once(listener, "close")
      listener.close()
      for (const client of open) client.destroy()
      await closed
    },
  }
}

interface Way {
  readonly from: Socket
  readonly to: Socket
  readonly direction: Direction
  readonly aims: SocketAims
  readonly close: () => void
}

function forward({ from, to, direction, aims, close }: Way): void {
  let isSwallowed = false
  from.on("data", (piece: Buffer) => {
    if (isSwallowed) return
    const armed = [...aims].find(({ fault }) => fault.direction === direction && piece.length >= fault.bytes)
    if (!armed) {
      if (to.write(piece)) return
      from.pause()
      to.once("drain", () => from.resume())
      return
    }
    armed.strike()
    const half = piece.subarray(0, piece.length >> 1)
    isSwallowed = true
    to.write(half, armed.fault.kind === "cut" ? close : undefined)
  })
  // The end of one direction is not the end of the other: an HTTP client may end its request, and read on.
  from.on("end", () => {
    if (!isSwallowed) to.end()
  })
}
