import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import { after, test } from "node:test"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import { makeCertificate, withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { type Challenge, tokenHeader } from "./credentials.js"
import { CertificateRefused, mayPass, RegistryFailed } from "./failures.js"

const challengeOf = (realm: string): Challenge => ({ scheme: "bearer", parameters: { realm, service: "images" } })

/** A server of tokens that answers with the status in the path. */
async function tokenServer(server: Server): Promise<number> {
  server.on("request", ({ url = "" }, response) => {
    response.writeHead(Number(/\d+/.exec(url)?.[0])).end(url.startsWith("/200/page") ? "<html>" : '{"token":"abc"}')
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  after(() => server.close())
  return (server.address() as AddressInfo).port
}

test("a token server that refuses, fails or is away is told apart, and only what may pass is tried again", async () => {
  const port = await tokenServer(createServer())
  const errorOf = (realm: string) => tokenHeader(challengeOf(realm), undefined).catch((error: unknown) => error)

  const token = await tokenHeader(challengeOf(`http://127.0.0.1:${port}/200`), undefined)
  const refused = await errorOf(`http://127.0.0.1:${port}/401`)
  const failed = await errorOf(`http://127.0.0.1:${port}/503`)
  const missing = await errorOf(`http://127.0.0.1:${port}/404`)
  const page = await errorOf(`http://127.0.0.1:${port}/200/page`)
  const away = await errorOf("http://127.0.0.1:1/200")

  assert.equal(token.reveal(), "Bearer abc")
  assert.ok(refused instanceof Unauthenticated)
  assert.ok(failed instanceof RegistryFailed && failed.status === 503)
  assert.ok(missing instanceof RegistryFailed && missing.status === 404)
  assert.match(String(page), /answers without a token/)
  assert.ok(away instanceof RegistryFailed)
  assert.match(away.message, /127\.0\.0\.1:1 does not answer/)
  assert.deepEqual([refused, failed, missing, away].map(mayPass), [false, true, false, true])
})

test("a token server with a certificate that is not trusted is named", { skip: withoutOpenssl() }, async () => {
  const { certFile, keyFile } = makeCertificate(temporaryFolder())
  const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
  const port = await tokenServer(createTlsServer(files))

  const error = await tokenHeader(challengeOf(`https://127.0.0.1:${port}/200`), undefined).catch(
    (error: unknown) => error,
  )

  assert.ok(error instanceof CertificateRefused)
  assert.match(error.message, /127\.0\.0\.1:\d+ has a certificate that is not trusted here/)
})
