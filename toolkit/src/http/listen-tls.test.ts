import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { request as httpsRequest } from "node:https"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { silent } from "../testing/test-cluster.js"
import { listen } from "./listen.js"
import { tlsFilesOf, UnusableCertificate } from "./tls-files.js"

const isOpensslThere = (() => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()
const skip = isOpensslThere ? false : "openssl, which makes the certificate, is not installed"

function makeFiles() {
  const folder = temporaryFolder()
  const files = { certFile: join(folder, "a.crt"), keyFile: join(folder, "a.key") }
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=a"]
  execFileSync("openssl", [...args, "-keyout", files.keyFile, "-out", files.certFile], { stdio: "ignore" })
  return files
}

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
  const listening = await listen(echo, { host: "127.0.0.1", port: 0 }, { files: makeFiles(), log: silent })
  const large = "x".repeat(1_000_000)

  const secure = await securely(`https://127.0.0.1:${listening.port}/`, large)
  const plain = await fetch(`http://127.0.0.1:${listening.port}/`, { method: "POST", body: large })

  assert.equal(secure, large)
  assert.equal(await plain.text(), large)
  await listening.close(100)
  await assert.rejects(fetch(`http://127.0.0.1:${listening.port}/`))
})

test("a certificate without its key, or the other way round, is refused", () => {
  assert.equal(tlsFilesOf(undefined, undefined), undefined)
  assert.throws(() => tlsFilesOf("/a.crt", undefined), UnusableCertificate)
  assert.throws(() => tlsFilesOf(undefined, "/a.key"), UnusableCertificate)
})
