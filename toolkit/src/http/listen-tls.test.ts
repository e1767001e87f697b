import assert from "node:assert/strict"
import { request as httpsRequest } from "node:https"
import test from "node:test"
import { makeCertificate, withoutOpenssl } from "../testing/certificate.js"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { silent } from "../testing/test-cluster.js"
import { listen } from "./listen.js"
import { tlsFilesOf, UnusableCertificate } from "./tls-files.js"

const skip = withoutOpenssl()

const securely = (url: string, body: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = httpsRequest(url, { method: "POST", rejectUnauthorized: false, agent: false }, (response) => {
      let text = ""
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString()
      })
      response.once("end", () => resolve(text))
    })
    request.once("error", reject)
    request.end(body)
  })

test("a port with a certificate speaks HTTPS, and plain HTTP to this machine", { skip }, async () => {
  const echo = async (request: Request) => new Response(await request.text())
  const listening = await listen(
    echo,
    { host: "127.0.0.1", port: 0 },
    { files: makeCertificate(temporaryFolder()), log: silent },
  )
  const large = "x".repeat(1_000_000)

  const secure = await securely(`https://127.0.0.1:${listening.port}/`, large)
  const plain = await fetch(`http://127.0.0.1:${listening.port}/`, { method: "POST", body: large })

  assert.equal(secure, large)
  assert.equal(await plain.text(), large)
  await listening.close(100)
  await assert.rejects(fetch(`http://127.0.0.1:${listening.port}/`))
})

test("a certificate without its key, and a key without its certificate, are refused", () => {
  assert.equal(tlsFilesOf(undefined, undefined), undefined)
  assert.throws(() => tlsFilesOf("/a.crt", undefined), UnusableCertificate)
  assert.throws(() => tlsFilesOf(undefined, "/a.key"), UnusableCertificate)
})
