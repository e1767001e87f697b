/** A proxy to a test's Postgres that the test can cut, as a network failure would: Postgres itself goes on. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export interface CuttableProxy extends AsyncDisposable {
  /** The database behind the proxy. */
  readonly uri: string
  /**
   * `reset`: open and new connections are reset. `silence`: nothing is forwarded and no connection is closed; what is sent
   * meanwhile arrives after `heal`. `vanish`: as if the host were gone and another one had its address. New connections work; on
   * those that are open nothing is forwarded any more, in neither direction, and neither end hears that the other has closed.
   */
  cut(how: "reset" | "silence" | "vanish"): void
  /** Restores the connection. */
  heal(): void
}

/** @param uri  a database on a Unix socket (`?host=/folder`), as in tests, or on TCP */
export async function cuttableProxy(uri: string): Promise<CuttableProxy> {
  const target = targetOf(uri)
  const pairs = new Set<readonly [Socket, Socket]>()
  const vanished = new Set<readonly [Socket, Socket]>()
  let state: "open" | "reset" | "silence" = "open"

  const listener = createServer((client) => {
    if (state === "reset") return void client.destroy()
    const server = connect(target)
    const pair = [client, server] as const
    pairs.add(pair)
    const end = () => {
      if (vanished.has(pair)) return
      pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) socket.on("error", end).on("close", end)
    const forward = (from: Socket, to: Socket) => from.on("data", (chunk) => vanished.has(pair) || to.write(chunk))
    forward(client, server)
    forward(server, client)
    if (state === "silence") for (const socket of pair) socket.pause()
  })
  listener.listen(0, "127.0.0.1")
  await once(listener, "listening")
  const { port } = listener.address() as { port: number }

  const destroyAll = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  }
  return {
    uri: throughTcp(uri, port),
    cut: (how) => {
      if (how === "vanish") {
        for (const pair of pairs) vanished.add(pair)
        return
      }
      state = how
      if (how === "reset") destroyAll()
      else for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    heal: () => {
      state = "open"
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    [Symbol.asyncDispose]: async () => {
      destroyAll()
      listener.close()
      await once(listener, "close")
    },
  }
}

function targetOf(uri: string): { path: string } | { host: string; port: number } {
  const url = new URL(uri)
  const folder = url.searchParams.get("host")
  const port = Number(url.port || 5432)
  return folder === null ? { host: url.hostname, port } : { path: `${folder}/.s.PGSQL.${port}` }
}

function throughTcp(uri: string, port: number): string {
  const url = new URL(uri)
  url.searchParams.delete("host")
  url.hostname = "127.0.0.1"
  url.port = String(port)
  return url.href
}
