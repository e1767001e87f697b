/** Neither a body nor bytes after a request reach a unit as a request: the edge checks each request by itself. */

import assert from "node:assert/strict"
import { once } from "node:events"
import { Agent, type IncomingMessage, request } from "node:http"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import test from "node:test"
import { unixAddress } from "@superstep/protocol/http/address"
import {
  checkHostile,
  hostileRequests,
  sendRaw,
  startTarget,
  type Target,
} from "@superstep/protocol/http/testing/hostile-requests"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { key, route, startEdge } from "./testing/harness.js"

const withKey = `Host: a\r\nx-api-key: ${key}\r\n`
const hidden = "DELETE /threads/of-somebody HTTP/1.1\r\nHost: a\r\n\r\n"

/** An edge in front of a unit that records everything it parses as a request. */
async function edgeBeforeTarget() {
  const folder = temporaryFolder()
  const socketPath = join(folder, "u1.sock")
  const target = await startTarget(socketPath)
  const edge = await startEdge(folder)
  await edge.take({
    generation: 1,
    routes: [route("chat", [{ unit_id: "u1", address: unixAddress(socketPath), token: "t" }])],
  })
  const dispose = async () => {
    await edge[Symbol.asyncDispose]()
    await target[Symbol.asyncDispose]()
  }
  return { edge, target, [Symbol.asyncDispose]: dispose }
}

const paths = ({ seen }: Target) => seen.map(({ method, url }) => `${method} ${url}`)

test("a hostile request is refused, or reaches the unit as one request", async (t) => {
  await using setup = await edgeBeforeTarget()
  const { edge, target } = setup

  for (const hostile of hostileRequests({ path: "/d/chat/x", head: `${withKey}Connection: close\r\n`, hidden })) {
    await t.test(hostile.name, async () => {
      checkHostile(hostile, await sendRaw(edge.port, hostile.bytes), target)
    })
  }
})

test("pipelined requests are checked one by one", async () => {
  await using setup = await edgeBeforeTarget()
  const { edge, target } = setup
  const first = `DELETE /d/chat/a HTTP/1.1\r\n${withKey}Content-Length: 2\r\n\r\n{}`
  const without = "DELETE /d/chat/b HTTP/1.1\r\nHost: a\r\n\r\n"
  const last = `GET /d/chat/c HTTP/1.1\r\n${withKey}Connection: close\r\n\r\n`

  const reply = await sendRaw(edge.port, first + without + last)

  assert.deepEqual(reply.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 401", "HTTP/1.1 200"])
  assert.deepEqual(paths(target), ["DELETE /a", "GET /c"])
  assert.deepEqual(target.garbage, [])
})

test("bytes after a refused upgrade reach no unit", async () => {
  await using setup = await edgeBeforeTarget()
  const { edge, target } = setup
  target.server.on("upgrade", (request, socket) => {
    target.seen.push({ method: request.method, url: request.url, headers: request.headersDistinct, body: "" })
    // Bytes of the caller that arrive before the answer would be parsed as a second request.
    socket.on("data", (chunk) => target.seen.push({ method: "bytes", url: String(chunk), headers: {}, body: "" }))
    if (request.url === "/declined") socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno")
    else if (request.url === "/plain") socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
    else socket.end(`HTTP/1.1 101 Switching Protocols\r\n\r\n${hidden}`)
  })
  const send = (path: string, upgrade: string) =>
    sendRaw(
      edge.port,
      `GET /d/chat/${path} HTTP/1.1\r\n${withKey}Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\n${hidden.repeat(3)}`,
    )

  const declined = await send("declined", "websocket")
  const plain = await send("plain", "websocket")
  const half = await send("half", "websocket")

  assert.match(declined, /^HTTP\/1\.1 403 .*\r\n\r\nno$/s)
  assert.match(plain, /^HTTP\/1\.1 200 .*\r\n\r\nok$/s)
  // The unit switches without naming a protocol: no tunnel is opened.
  assert.match(half, /^HTTP\/1\.1 502 /)
  assert.deepEqual(paths(target), ["GET /declined", "GET /plain", "GET /half"])
})

test("a request that offers another protocol reaches the unit as an ordinary one, and so does the next on its connection", async () => {
  await using setup = await edgeBeforeTarget()
  const { edge, target } = setup
  target.server.on("upgrade", () => assert.fail("the unit was offered another protocol"))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { "x-api-key": key, connection: "Upgrade, HTTP2-Settings", "http2-settings": "AAMAAABk" }
  const ports = new Set<number | undefined>()
  const ask = async (method: string, path: string, upgrade: string, body?: string) => {
    const url = `http://127.0.0.1:${edge.port}/d/chat${path}`
    const sent = request(url, { method, agent, headers: { ...headers, upgrade } }).end(body)
    const [response] = (await once(sent, "response")) as [IncomingMessage]
    ports.add(response.socket.localPort)
    await text(response)
    return response.statusCode
  }

  const statuses = [
    await ask("POST", "/a", "h2c", hidden),
    await ask("GET", "/b", "h2c"),
    await ask("GET", "/c", "TLS/1.0, websocket"),
    await ask("POST", "/d", "websocket", "{}"),
  ]
  agent.destroy()

  assert.deepEqual([statuses, ports.size], [[200, 200, 200, 200], 1])
  assert.deepEqual(paths(target), ["POST /a", "GET /b", "GET /c", "POST /d"])
  assert.equal(target.seen[0]?.body, hidden)
  for (const { headers } of target.seen)
    assert.deepEqual([headers.upgrade, headers["http2-settings"]], [undefined, undefined])
  assert.deepEqual(target.garbage, [])
})

test("an ambiguously framed answer reaches no caller and affects no other request", async () => {
  await using setup = await edgeBeforeTarget()
  const { edge, target } = setup
  const answers = new Map([
    ["/both", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["/two", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello"],
    ["/more", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"],
  ])
  target.server.removeAllListeners("request")
  target.server.on("request", (request, response) => {
    const raw = answers.get(request.url ?? "")
    if (raw === undefined) response.end("mine")
    else request.socket.write(raw)
  })
  const get = async (path: string) => {
    const reply = await sendRaw(edge.port, `GET /d/chat${path} HTTP/1.1\r\n${withKey}Connection: close\r\n\r\n`)
    return [reply.slice(9, 12), reply.split("\r\n\r\n")[1]?.slice(0, 4)]
  }

  assert.equal((await get("/both"))[0], "502")
  assert.equal((await get("/two"))[0], "502")
  assert.deepEqual(await get("/more"), ["200", "ok"])
  for (const path of ["/a", "/b", "/c"]) assert.deepEqual(await get(path), ["200", "mine"])
})
