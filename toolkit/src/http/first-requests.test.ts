import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { type AddressInfo, connect, type Server as NetServer, type Socket } from "node:net"
import { test } from "node:test"
import { connect as connectSecurely } from "node:tls"
import { makeCertificate, withoutOpenssl } from "../testing/certificate.js"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { silent } from "../testing/test-cluster.js"
import { limitFirstRequests } from "./first-requests.js"
import { listen } from "./listen.js"
import { secureFront } from "./secure-front.js"
import { readTlsFiles } from "./tls-files.js"

const skip = withoutOpenssl()
const loopback = { host: "127.0.0.1", port: 0 }
const post = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\n\r\n"

// Answers with the body, and begins to answer before it is there.
const echo: RequestListener = (request, response) => {
  response.flushHeaders()
  request.pipe(response)
}

async function listening(server: NetServer) {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return port
}

/** Notes what came and whether it was closed. */
function noting(socket: Socket) {
  const noted = { socket, text: "", closed: once(socket, "close") }
  socket.on("error", () => undefined)
  socket.on("data", (chunk) => {
    noted.text += chunk
  })
  return noted
}

/** Clients whose first head is late, and two whose head came and whose body takes its time. */
async function meetClients(plain: () => Socket, secure?: () => Socket) {
  const ways = secure ? [plain, secure] : [plain]
  const slow = ways.map((open) => noting(open()))
  for (const { socket } of slow) socket.write(`${post}abc`)
  for (const it of slow) while (!it.text.includes("abc")) await once(it.socket, "data")
  const mute = [noting(plain()), ...ways.map((open) => noting(open()))]
  for (const { socket } of mute.slice(1)) socket.write("GET / HTTP/1.1\r\nhost:")
  // A handshake that was begun.
  if (secure) mute.push(noting(plain()))
  if (secure) mute.at(-1)?.socket.write(Buffer.from([0x16, 3, 1, 2, 0]))

  await Promise.all(mute.map(({ closed }) => closed))

  for (const { socket } of slow) socket.write("def")
  for (const it of slow) while (!it.text.includes("def")) await once(it.socket, "data")
  for (const { socket } of slow) socket.destroy()
}

const limits = { headMs: 1000, most: 100 }

test("connections from one port to two addresses of ours are limited separately", async () => {
  const server = createServer(echo)
  limitFirstRequests({ accepting: server, answering: [server] }, limits)
  server.listen(0, "0.0.0.0")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const open = async (host: string, localPort?: number) => {
    const accepted = once(server, "connection")
    const it = noting(connect({ port, host, localAddress: "127.0.0.1", ...(localPort && { localPort }) }))
    await accepted
    return it
  }
  const meant = await open("127.0.0.1")
  const mute = await open("127.0.0.2", meant.socket.localPort)
  meant.socket.write(`${post}abc`)

  await Promise.race([mute.closed, meant.closed])

  assert.equal(meant.socket.destroyed, false)
  assert.equal(mute.socket.destroyed, true)
  meant.socket.destroy()
  mute.socket.destroy()
  server.close()
})

test("the limits apply to TLS, also to incomplete handshakes", { skip }, async () => {
  const secure = createSecureServer(readTlsFiles(makeCertificate(temporaryFolder())), echo)
  const front = secureFront({ plain: createServer(echo), secure: secure as unknown as Server }, limits)
  const port = await listening(front.server)

  await meetClients(
    () => connect(port, "127.0.0.1"),
    () => connectSecurely({ port, host: "127.0.0.1", rejectUnauthorized: false }),
  )

  await front.close(0)
})

test("the head of a later request has a time limit too, also behind a front", { skip }, async () => {
  const quick = { headersTimeout: 1000, requestTimeout: 0, connectionsCheckingInterval: 20 }
  const secure = createSecureServer({ ...quick, ...readTlsFiles(makeCertificate(temporaryFolder())) }, echo)
  const front = secureFront({ plain: createServer(quick, echo), secure: secure as unknown as Server })
  const port = await listening(front.server)
  const ways = [
    () => connect(port, "127.0.0.1"),
    () => connectSecurely({ port, host: "127.0.0.1", rejectUnauthorized: false }),
  ]

  for (const open of ways) {
    const it = noting(open())
    it.socket.write(`${post}abcdef`)
    while (!it.text.endsWith("0\r\n\r\n")) await once(it.socket, "data")
    it.socket.write("GET / HTTP/1.1\r\n")
    await it.closed
    assert.match(it.text, /HTTP\/1\.1 408/)
  }

  await front.close(0)
})

test("of too many silent connections the oldest is closed, and real requests are served", async () => {
  const server = createServer(echo)
  limitFirstRequests({ accepting: server, answering: [server] }, { headMs: 60_000, most: 3 })
  const port = await listening(server)
  const mute: ReturnType<typeof noting>[] = []
  for (let n = 0; n < 4; n++) {
    mute.push(noting(connect(port, "127.0.0.1")))
    await once(server, "connection")
  }

  await mute[0]?.closed
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "meant" })

  assert.equal(await response.text(), "meant")
  const destroyed = mute.map(({ socket }) => socket.destroyed)
  assert.deepEqual(destroyed, [true, true, false, false])
  server.closeAllConnections()
  server.close()
})

for (const [name, files] of [
  ["plain HTTP", undefined],
  ["TLS", skip ? undefined : makeCertificate(temporaryFolder())],
] as const) {
  test(`every kind of server has these limits: ${name}`, { skip: name === "TLS" && skip }, async () => {
    const app = () => new Response("served")
    const { port = 0, close } = await listen(app, loopback, files && { files, log: silent })
    const first = noting(connect(port, "127.0.0.1"))
    await once(first.socket, "connect")

    const others = Array.from({ length: 1000 }, () => noting(connect(port, "127.0.0.1")))
    await first.closed
    const response = await fetch(`http://127.0.0.1:${port}/`)

    assert.equal(await response.text(), "served")
    for (const { socket } of others) socket.destroy()
    await close(0)
  })
}
