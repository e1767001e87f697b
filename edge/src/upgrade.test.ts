import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import test from "node:test"
import { sendRaw } from "@superstep/protocol/http/testing/hostile-requests"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { type RawData, WebSocket, WebSocketServer } from "ws"
import { edgeWithUnit, key, readBody, readKey, route, untilOpen, withKey } from "./testing/harness.js"

/** An edge in front of a unit that echoes WebSocket messages, and declines `/no`. */
async function echoEdge() {
  const setup = await edgeWithUnit((_, response) => void response.end("plain"))
  const accepted: IncomingMessage[] = []
  const sockets = new WebSocketServer({ noServer: true })
  setup.unit.server.on("upgrade", (request, socket, head) => {
    if (request.url === "/no") {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 16\r\nx-why: because\r\n\r\n{"detail":"no"}\n')
      return
    }
    if (request.url === "/cut") return void socket.destroy()
    accepted.push(request)
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.send("hello")
      client.on("message", (data, isBinary) => client.send(data, { binary: isBinary }))
    })
  })
  return Object.assign(setup, { accepted, sockets, socketUrl: setup.chat.replace("http", "ws") })
}

const nextMessage = async (client: WebSocket): Promise<RawData> => ((await once(client, "message")) as [RawData])[0]

// What a caller may send and a unit must not see.
const forged = { "x-superstep-unit": "forged", "x-superstep-console": "1", "x-auth-scheme": "langsmith" }

test("a WebSocket forwards text and large binary messages, in both directions", async () => {
  await using setup = await echoEdge()
  const client = new WebSocket(`${setup.socketUrl}/ws?a=1`, { headers: { ...withKey, ...forged } })
  assert.equal(String(await nextMessage(client)), "hello")

  client.send("text")
  assert.equal(String(await nextMessage(client)), "text")
  const bytes = randomBytes(2_000_000)
  client.send(bytes)
  assert.ok(bytes.equals((await nextMessage(client)) as Buffer))

  const [request] = setup.accepted
  assert.equal(request?.url, "/ws?a=1")
  assert.equal(request?.headers["x-superstep-unit"], "token-of-u1")
  for (const name of ["x-api-key", "x-superstep-console", "x-auth-scheme"])
    assert.equal(request?.headers[name], undefined, name)
  await untilOpen(setup.edge, { requests: 0, streams: 0, websockets: 1, idle_ms: 0 })
  client.close(4001, "done")
  const [code, reason] = (await once(client, "close")) as [number, Buffer]
  assert.deepEqual([code, String(reason)], [4001, "done"])
  await untilOpen(setup.edge, { websockets: 0 })
})

test("a page sends its key as a subprotocol, which neither the unit nor the page sees accepted", async () => {
  await using setup = await echoEdge()
  const asProtocol = (value: string) => `x-api-key.${Buffer.from(value).toString("base64url")}`
  const client = new WebSocket(`${setup.socketUrl}/ws`, [asProtocol(key), "agent-protocol"])
  await nextMessage(client)
  const wrong = new WebSocket(`${setup.socketUrl}/ws`, [asProtocol("wrong"), "agent-protocol"])
  const [error] = (await once(wrong, "error")) as [Error]

  assert.equal(client.protocol, "agent-protocol")
  assert.equal(setup.accepted[0]?.headers["sec-websocket-protocol"], "agent-protocol")
  assert.equal(setup.accepted[0]?.headers["x-api-key"], undefined)
  assert.match(error.message, /401/)
  assert.equal(setup.accepted.length, 1)
  client.terminate()
})

test("a WebSocket survives its unit's removal from the table, and closing either end closes both", async () => {
  await using setup = await echoEdge()
  const client = new WebSocket(`${setup.socketUrl}/ws`, { headers: withKey })
  await nextMessage(client)
  await setup.edge.take({ generation: 2, routes: [] })

  client.send("still here")
  assert.equal(String(await nextMessage(client)), "still here")

  for (const atUnit of setup.sockets.clients) atUnit.terminate()
  await once(client, "close")
  await untilOpen(setup.edge, undefined)

  await setup.edge.take({ generation: 3, routes: [route("chat", [setup.unit.unit])] })
  const second = new WebSocket(`${setup.socketUrl}/ws`, { headers: withKey })
  await nextMessage(second)
  const [atUnit] = setup.sockets.clients
  assert.ok(atUnit)
  const ended = once(atUnit, "close")
  second.terminate()
  await ended
})

async function refusal(url: string, headers: Record<string, string>) {
  const client = new WebSocket(url, { headers })
  const [, response] = (await once(client, "unexpected-response")) as [unknown, IncomingMessage]
  return { status: response.statusCode, body: (await readBody(response)).toString() }
}

test("a WebSocket handshake is refused like a request", { timeout: 60_000 }, async () => {
  await using setup = await echoEdge()
  const { edge, socketUrl } = setup

  const noKey = await refusal(`${socketUrl}/ws`, {})
  const atHealth = await refusal(`${socketUrl}/ok`, {})
  const readOnly = await refusal(`${socketUrl}/ws`, { "x-api-key": readKey })
  const noRoute = await refusal(`${socketUrl}x/ws`, withKey)
  const declined = await refusal(`${socketUrl}/no`, withKey)
  const cut = await refusal(`${socketUrl}/cut`, withKey)
  const internal = await refusal(`${socketUrl}/internal/status`, withKey)
  await setup.unit.close()
  const down = await refusal(`${socketUrl}/ws`, withKey)

  assert.match(noKey.body, /x-api-key/)
  const refused = [noKey, atHealth, readOnly, noRoute, cut, internal, down]
  assert.deepEqual(fieldsOf(refused, "status"), [401, 401, 403, 404, 502, 404, 503])
  assert.deepEqual(declined, { status: 403, body: '{"detail":"no"}\n' })
  await untilOpen(edge, { websockets: 0 })
})

test("only WebSocket is upgraded, so no tunnel reaches a unit; an offer of HTTP/2 is ignored", async () => {
  await using setup = await echoEdge()
  const head = `GET /d/chat/x HTTP/1.1\r\nHost: a\r\nx-api-key: ${key}\r\nConnection: Upgrade`

  const h2c = await sendRaw(
    setup.edge.port,
    `${head}, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
  )
  const withBody = await sendRaw(setup.edge.port, `${head}\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\nabcde`)

  assert.match(h2c, /^HTTP\/1\.1 200 .*\r\n\r\n.*plain/s)
  assert.match(withBody, /^HTTP\/1\.1 400 /)
  assert.equal(setup.accepted.length, 0)
})
