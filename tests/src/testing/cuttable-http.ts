/** A line to a server that a test can cut, as a network failure would: the server itself goes on. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { resetSocket } from "@superstep/toolkit/testing/reset-socket"

export interface CuttableHttp extends AsyncDisposable {
  readonly url: string
  /** Resets all connections, and new ones until `heal`. */
  cut(): void
  /** Carries nothing any more, in either direction, and breaks nothing: connections and new ones wait for `heal`. */
  hold(): void
  heal(): void
}

/** @param url  of a server on TCP */
export async function cuttableHttp(url: string): Promise<CuttableHttp> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const others = new WeakMap<Socket, Socket>()
  let isCut = false
  let held: Promise<void> | undefined
  let release = () => {}
  const destroyAll = () => {
    for (const socket of sockets) resetSocket(socket)
  }
  const listener = createServer(async (client) => {
    if (isCut) return void resetSocket(client)
    client.on("error", () => {})
    await held
    const server = connect(Number(port), hostname)
    for (const socket of [client, server]) {
      sockets.add(socket)
      others.set(socket, socket === client ? server : client)
      // The other side's end ends it; an error only says that this has happened.
      socket.on("error", () => {}).on("close", () => sockets.delete(socket))
    }
    client.pipe(server)
    server.pipe(client)
    client.on("close", () => server.destroy())
    server.on("close", () => client.destroy())
  })
  listener.listen(0, "127.0.0.1")
  await once(listener, "listening")
  return {
    url: `http://127.0.0.1:${(listener.address() as { port: number }).port}`,
    cut: () => {
      isCut = true
      destroyAll()
    },
    hold: () => {
      held = new Promise((resolve) => {
        release = resolve
      })
      for (const socket of sockets) socket.unpipe().pause()
    },
    heal: () => {
      isCut = false
      for (const socket of held ? sockets : []) socket.pipe(others.get(socket) as Socket)
      held = undefined
      release()
    },
    [Symbol.asyncDispose]: async () => {
      destroyAll()
      listener.close()
      await once(listener, "close")
    },
  }
}
