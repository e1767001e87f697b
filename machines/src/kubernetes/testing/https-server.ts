/** An HTTPS server of this computer in the place of an API server. */
import { readFileSync } from "node:fs"
import type { RequestListener } from "node:http"
import { createServer, type ServerOptions } from "node:https"
import type { AddressInfo } from "node:net"
import { after, before } from "node:test"
import { makeCertificate, withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

/** Listens while the tests of a file run. @returns  how to reach it, which is known to tests and hooks only */
export function httpsServerOfFile(listener: RequestListener, options: ServerOptions = {}) {
  const server = createServer(options, listener)
  const place = { server, origin: "", port: 0, authority: "", key: "" }
  before(async () => {
    if (withoutOpenssl()) return
    const files = makeCertificate(temporaryFolder())
    place.authority = readFileSync(files.certFile, "utf8")
    place.key = readFileSync(files.keyFile, "utf8")
    server.setSecureContext({ cert: place.authority, key: place.key })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    place.port = (server.address() as AddressInfo).port
    place.origin = `https://127.0.0.1:${place.port}`
  })
  after(() => void server.close().closeAllConnections())
  return place
}
