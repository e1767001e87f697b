import assert from "node:assert/strict"
import { once } from "node:events"
import { type IncomingMessage, type RequestListener, request, type Server } from "node:http"
import { connect } from "node:net"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import test from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { lateOnBusyMachineMs } from "@superstep/toolkit/testing/busy-machine"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { WebSocketServer } from "ws"
import { startCompanion } from "./companion.js"

const token = "the-token"
const times = { startingMs: 5, steadyMs: 5, limitMs: lateOnBusyMachineMs }

/** A guest with its companion. */
async function guestWith(answers: RequestListener) {
  const { server: guest, port, [Symbol.dispose]: endGuest } = await portServer(answers)
  const socketPath = join(temporaryFolder(), "unit.sock")
  const companion = await startCompanion({ socketPath, revisionId: "r1", unitToken: new Secret(token), port, times })
  const stop = async () => {
    await companion.stop()
    endGuest()
  }
  return { guest, socketPath, [Symbol.asyncDispose]: stop }
}

const headers: Record<string, string> = { "x-superstep-unit": token }

async function open(
  socketPath: string,
  path: string,
  options: { method?: string; body?: string; headers?: Record<string, string> } = {},
) {
  const { body = "", ...how } = { headers, ...options }
  const asked = request({ socketPath, path, agent: false, ...how }).end(body)
  const [response] = (await once(asked, "response")) as [IncomingMessage]
  return { asked, response }
}

async function ask(...request: Parameters<typeof open>) {
  const { response } = await open(...request)
  return { status: response.statusCode, headers: response.headers, said: await text(response) }
}

const statusOf = async (socketPath: string) => JSON.parse((await ask(socketPath, "/internal/status")).said)

const answersOk: RequestListener = ({ url }, response) => void response.writeHead(url === "/ok" ? 200 : 404).end()

test("a guest is ready when /ok answers 2xx, and serves once it is told to (CO2)", async () => {
  let isUp = false
  await using it = await guestWith((_, response) => void response.writeHead(isUp ? 200 : 503).end())
  const { socketPath } = it

  assert.equal((await statusOf(socketPath)).ready, false)
  const waiting = ask(socketPath, "/internal/status?wait_ms=60000")
  isUp = true
  assert.equal(JSON.parse((await waiting).said).ready, true)
  assert.equal((await ask(socketPath, "/internal/activate", { method: "POST" })).status, 204)

  const { serving, revision_id, traffic } = await statusOf(socketPath)
  assert.deepEqual([serving, revision_id, traffic], [true, "r1", [{ revision_id: "r1", weight: null }]])
  isUp = false
  await until(async () => !(await statusOf(socketPath)).ready, { what: "it is not ready any more" })
  assert.equal((await ask(socketPath, "/internal/live")).status, 204)
})

test("a guest that stops answering gives no sign of life (CO2)", async () => {
  let hangs = false
  await using it = await guestWith((_, response) => void (hangs || response.writeHead(200).end()))
  const { socketPath } = it
  await until(async () => (await statusOf(socketPath)).ready, { what: "it is ready" })
  const { response: watched } = await open(socketPath, "/internal/status?watch=100")
  let beats = 0
  watched.on("data", () => beats++)
  await until(() => beats > 2, { what: "signs of life" })

  hangs = true

  await until(async () => !(await statusOf(socketPath)).ready, { what: "it is not ready any more" })
  // What was sent before has come by then.
  await ask(socketPath, "/internal/status?wait_ms=200")
  const before = beats
  const live = request({ socketPath, path: "/internal/live", headers, agent: false }).end()
  let hasAnswered = false
  live.on("response", () => {
    hasAnswered = true
  })
  // The companion has had time for two more requests of its own.
  await ask(socketPath, "/internal/status?wait_ms=500")
  assert.deepEqual([beats - before, hasAnswered], [0, false])
  hangs = false
  await until(() => hasAnswered, { what: "it is alive again" })
  watched.destroy()
})

test("a guest that has exited ends the watch of its status, so that its container is looked at (CO2)", async () => {
  await using it = await guestWith(answersOk)
  const { socketPath } = it
  await until(async () => (await statusOf(socketPath)).ready, { what: "it is ready" })
  const { response: watched } = await open(socketPath, "/internal/status?watch=60000")
  const lines = text(watched)

  closeNow(it.guest)

  assert.match(await lines, /"ready":true.*\n$/)
})

test("requests reach the guest with their bodies, and without our token; replies name the revision (CO1, CO3)", async () => {
  await using it = await guestWith(async (incoming, response) => {
    const body = await text(incoming)
    const { method, url, headers } = incoming
    response.writeHead(201, { "x-guest": "yes", "X-Revision-Id": "of-the-guest" })
    response.end(JSON.stringify({ method, url, body, token: headers["x-superstep-unit"], own: headers["x-own"] }))
  })
  const sent = { method: "POST", body: "hi", headers: { ...headers, "x-own": "1" } }

  const { status, said, headers: answered } = await ask(it.socketPath, "/a?b=1", sent)

  assert.deepEqual([status, answered["x-guest"], answered["x-revision-id"]], [201, "yes", "r1"])
  assert.deepEqual(JSON.parse(said), { method: "POST", url: "/a?b=1", body: "hi", own: "1" })
  const refused = await ask(it.socketPath, "/a", { headers: { "x-superstep-unit": "another" } })
  assert.equal(refused.status, 401)
  assert.equal((await ask(it.socketPath, "/a", { headers: {} })).status, 401)
  assert.equal((await ask(it.socketPath, "/internal/pins/r0")).status, 404)
})

test("a stream passes event by event, and an open one keeps the unit busy (CO4)", async () => {
  let end: () => unknown = () => undefined
  await using it = await guestWith(({ url }, response) => {
    if (url === "/ok") return void response.end()
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n")
    end = () => response.end("data: 2\n\n")
  })
  const idle = async () => JSON.parse((await ask(it.socketPath, "/internal/idle")).said).is_idle
  assert.equal(await idle(), true)

  const { response } = await open(it.socketPath, "/stream")
  const [first] = await once(response, "data")

  assert.equal(String(first), "data: 1\n\n")
  assert.equal(await idle(), false)
  assert.equal((await statusOf(it.socketPath)).open_streams, 1)
  end()
  assert.equal(await text(response), "data: 2\n\n")
  await until(idle, { what: "it is idle again" })
})

test("a caller that leaves ends its request at the guest; a guest that is down is said to be", async () => {
  let left: Promise<unknown> | undefined
  await using it = await guestWith((incoming, response) => {
    if (incoming.url === "/ok") return void response.end()
    left = once(response, "close")
    response.write("begun")
  })
  const { asked, response } = await open(it.socketPath, "/long")
  response.on("error", () => undefined).resume()
  asked.destroy()
  await until(() => left !== undefined, { what: "the guest has the request" })
  await left

  closeNow(it.guest)
  const down = await ask(it.socketPath, "/anything")
  assert.ok(down.status === 503 || down.status === 502, String(down.status))
  assert.match(down.said, /in the container of this revision/)
})

test("WebSockets reach the guest with the token, and are refused without", async () => {
  await using it = await guestWith(answersOk)
  const sockets = new WebSocketServer({ server: it.guest })
  sockets.on("connection", (socket) => socket.on("message", (message) => socket.send(`got ${message}`)))
  const handshake = (shown: string) =>
    `GET /ws HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nx-superstep-unit: ${shown}\r\n\r\n`
  const said = async (shown: string, ...more: Buffer[]) => {
    const socket = connect(it.socketPath)
    let all = Buffer.alloc(0)
    socket.on("data", (bytes: Buffer) => {
      all = Buffer.concat([all, bytes])
    })
    socket.write(handshake(shown))
    await until(() => all.includes("\r\n\r\n"), { what: "an answer" })
    for (const bytes of more) socket.write(bytes)
    return { socket, all: () => all.toString("latin1") }
  }

  // A masked frame with the text "hi", whose mask is zero.
  const open = await said(token, Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]))
  await until(() => open.all().includes("got hi"), { what: "the guest's message" })
  assert.match(open.all(), /^HTTP\/1\.1 101 /)
  const refused = await said("another")

  assert.match(refused.all(), /^HTTP\/1\.1 401 /)
  for (const { socket } of [open, refused]) socket.destroy()
  for (const client of sockets.clients) client.terminate()
})

const closeNow = (server: Server): void => {
  server.close()
  server.closeAllConnections()
}
