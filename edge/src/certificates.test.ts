/** The edge with certificates of host names, and its port for plain HTTP. */

import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { connect, type TLSSocket } from "node:tls"
import { makeCertificate, withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { certificateFile } from "./certificates.js"
import type { Table } from "./table.js"
import { exchange, route, startEdge, startUnit, withKey } from "./testing/harness.js"

const skip = withoutOpenssl()

/** The common name of the certificate that a caller gets who asks for a name. */
const shownTo = (port: number, servername: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ port, host: "127.0.0.1", servername, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.once("error", reject)
  })

async function setUp() {
  const folder = temporaryFolder()
  const certificates = join(folder, "certificates")
  mkdirSync(certificates)
  const operator = makeCertificate(folder, "operator")
  /** Stores a certificate as the control plane does. @returns  its hash */
  const store = (name: string): string => {
    const { certFile, keyFile } = makeCertificate(folder, name)
    const pem = readFileSync(certFile, "utf8")
    const sha256 = createHash("sha256").update(pem).digest("hex")
    writeFileSync(certificateFile(certificates, sha256), `${pem}\n${readFileSync(keyFile, "utf8")}`)
    return sha256
  }
  const asked: string[] = []
  const unit = await startUnit(folder, "u1", ({ url = "" }, response) => {
    asked.push(url)
    response.end("the agent's")
  })
  const edge = await startEdge(folder, {
    SUPERSTEP_TLS_CERT: operator.certFile,
    SUPERSTEP_TLS_KEY: operator.keyFile,
    SUPERSTEP_EDGE_CERTIFICATES: certificates,
    SUPERSTEP_EDGE_PLAIN: "1",
  })
  const named = (...host_names: { name: string; certificate?: string }[]) => route("chat", [unit.unit], { host_names })
  let generation = 0
  const take = (table: Omit<Table, "generation">) => edge.take({ generation: ++generation, ...table })
  const plainly = (path: string, host: string, { method = "GET", headers = {} } = {}) =>
    exchange({ port: edge.plainPort, path, method, headers: { host, ...headers } })
  const dispose = async () => {
    await edge[Symbol.asyncDispose]()
    await unit.close()
  }
  return { store, named, take, plainly, edge, asked, [Symbol.asyncDispose]: dispose }
}

test("each host name has its certificate, every other name that of the operator; a missing one is logged", {
  skip,
}, async () => {
  await using it = await setUp()
  const { store, named, take, edge } = it
  const [first, second, missing] = [store("first"), store("second"), "0".repeat(64)]
  await take({
    routes: [
      named(
        { name: "a.example.com", certificate: first },
        { name: "b.example.com" },
        { name: "c.example.com", certificate: missing },
      ),
    ],
  })

  const before = [await shownTo(edge.port, "a.example.com"), await shownTo(edge.port, "c.example.com")]
  await take({ routes: [named({ name: "a.example.com", certificate: second }, { name: "b.example.com" })] })
  const shown = await Promise.all(
    ["a.example.com", "A.Example.com", "b.example.com", "c.example.com", "x.a.example.com"].map((name) =>
      shownTo(edge.port, name),
    ),
  )

  assert.deepEqual(before, ["first", "operator"])
  assert.deepEqual(shown, ["second", "second", "operator", "operator", "operator"])
  assert.ok(edge.hasLogged("the certificate of a host name cannot be used"))
})

test("plain HTTP answers challenges of the edge's names only, and no agent can answer one", { skip }, async () => {
  await using it = await setUp()
  const { take, named, plainly, asked } = it
  const challenge = { host_name: "new.example.com", token: "abc", key_authorization: "abc.thumbprint" }
  await take({ routes: [named({ name: "agent.example.com" })], challenges: [challenge] })
  const path = "/.well-known/acme-challenge/"

  const own = await plainly(`${path}abc`, "New.example.com:80")
  const others = await Promise.all([
    plainly(`${path}abc`, "agent.example.com"),
    plainly(`${path}abc`, "elsewhere.example.com"),
    plainly(`${path}other`, "new.example.com"),
    plainly(`${path}other`, "agent.example.com", { headers: withKey }),
    plainly(`${path}other`, "agent.example.com", { method: "POST", headers: withKey }),
    plainly(`http://agent.example.com${path}abc`, "new.example.com"),
    plainly("/", "new.example.com"),
  ])

  assert.deepEqual([own.status, own.body], [200, "abc.thumbprint"])
  assert.deepEqual(fieldsOf(others, "status"), [404, 404, 404, 404, 404, 404, 404])
  assert.deepEqual(asked, [], "no request reached the agent")
})

test("plain HTTP redirects pages of host names to HTTPS, and refuses requests with a key", { skip }, async () => {
  await using it = await setUp()
  await it.take({ routes: [it.named({ name: "agent.example.com" })] })

  const page = await it.plainly("/docs?a=%2F", "agent.example.com:80")
  const withAKey = await it.plainly("/threads", "agent.example.com", { headers: withKey })
  const post = await it.plainly("/threads", "agent.example.com", { method: "POST" })
  const prefixed = await it.plainly("/d/chat/ok", "elsewhere.example.com")

  assert.deepEqual([page.status, page.headers.location], [308, "https://agent.example.com/docs?a=%2F"])
  assert.deepEqual([withAKey.status, post.status, prefixed.status], [403, 403, 404])
  assert.match(withAKey.body, /https_required/)
  assert.deepEqual(it.asked, [])
})
