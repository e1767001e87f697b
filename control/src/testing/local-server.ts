/** For tests: an HTTP server of this computer in place of somebody else's. */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"

export interface LocalServer extends AsyncDisposable {
  /** `127.0.0.1:<port>` */
  readonly host: string
  readonly url: string
}

export async function localServer(answer: RequestListener): Promise<LocalServer> {
  const server = createServer(answer).listen(0, "127.0.0.1")
  await once(server, "listening")
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { host, url: `http://${host}`, [Symbol.asyncDispose]: close }
}
