import assert from "node:assert/strict"
import { once } from "node:events"
import { copyFileSync, writeFileSync } from "node:fs"
import { request as httpsRequest } from "node:https"
import { connect as connectPlainly } from "node:net"
import { join } from "node:path"
import test from "node:test"
import { connect, type TLSSocket } from "node:tls"
import { makeCertificate, withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { edgeWithUnit, startEdge, withKey } from "./testing/harness.js"

const skip = withoutOpenssl()

const names = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.once("error", reject)
  })

test("the edge speaks HTTPS, and a new certificate cuts no stream", { skip }, async () => {
  const folder = temporaryFolder()
  const [first, second] = [makeCertificate(folder, "first"), makeCertificate(folder, "second")]
  const live = { cert: join(folder, "live.crt"), key: join(folder, "live.key") }
  copyFileSync(first.certFile, live.cert)
  copyFileSync(first.keyFile, live.key)
  let finish = (): void => undefined
  await using setup = await edgeWithUnit(
    (request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(`data: ${request.headers["x-forwarded-proto"]}\n\n`)
      finish = () => response.end("data: end\n\n")
    },
    { SUPERSTEP_TLS_CERT: live.cert, SUPERSTEP_TLS_KEY: live.key },
  )
  const { port } = setup.edge
  const heard: string[] = []
  const options = { port, host: "127.0.0.1", path: "/d/chat/runs/stream", headers: withKey, rejectUnauthorized: false }
  const ended = new Promise<void>((resolve, reject) => {
    const asked = httpsRequest(options, (response) => {
      response.on("data", (chunk: Buffer) => heard.push(chunk.toString()))
      response.once("end", resolve)
    })
    asked.once("error", reject)
    asked.end()
  })
  await until(() => heard.length > 0, { what: "the stream begins" })
  assert.equal(await names(port), "first")

  // The key arrives later, as may happen in production: the pair is not used before both match.
  copyFileSync(second.certFile, live.cert)
  await until(() => setup.edge.hasLogged("the new certificate cannot be used; the former one stays in use"), {
    what: "half a pair is refused",
  })
  copyFileSync(second.keyFile, live.key)
  await until(async () => (await names(port)) === "second", { what: "the new certificate is shown" })
  finish()
  await ended

  assert.equal(heard.join(""), "data: https\n\ndata: end\n\n")
})

test("an edge with a certificate but no key does not start, and says why", { skip }, async () => {
  const folder = temporaryFolder()
  const { keyFile: key } = makeCertificate(folder, "alone")
  writeFileSync(join(folder, "empty.crt"), "")

  const started = startEdge(folder, { SUPERSTEP_TLS_KEY: key, SUPERSTEP_TLS_CERT: join(folder, "empty.crt") })

  await assert.rejects(started, /ended before it listened/)
})

for (const name of ["plain HTTP", "TLS"]) {
  test(`silent connections are closed: ${name}`, { skip: name === "TLS" && skip }, async () => {
    const { certFile, keyFile } = name === "TLS" ? makeCertificate(temporaryFolder()) : { certFile: "", keyFile: "" }
    const tls = { SUPERSTEP_TLS_CERT: certFile, SUPERSTEP_TLS_KEY: keyFile }
    await using setup = await edgeWithUnit((_, response) => response.end("served"), name === "TLS" ? tls : {})
    const silent = () => connectPlainly(setup.edge.port, "127.0.0.1").on("error", () => undefined)
    const first = silent()
    const isCut = once(first, "close")
    await once(first, "connect")

    const others = Array.from({ length: 1000 }, silent)
    first.resume()
    await isCut

    for (const socket of others) socket.destroy()
    assert.equal(setup.edge.process.exitCode, null)
  })
}
