/** A line to a server that a test can cut, as a network failure would: the server itself goes on. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export interface CuttableHttp extends AsyncDisposable {
  readonly url: string
  /** Resets all connections, and new ones until `heal`. */
  cut(): void
  heal(): void
}

/** @param url  of a server on TCP */
export async function cuttableHttp(url: string): Promise<CuttableHttp> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isCut = false
  const destroyAll = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  const listener = createServer((client) => {
    if (isCut) return void client.resetAndDestroy()
    const server = connect(Number(port), hostname)
    for (const socket of [client, server]) {
      sockets.add(socket)
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
    heal: () => {
      isCut = false
    },
    [Symbol.asyncDispose]: async () => {
      destroyAll()
      listener.close()
      await once(listener, "close")
    },
  }
}
