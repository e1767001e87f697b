/** E9: a key that leaves the table ends what was opened with it. */
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { connect } from "node:net"
import test from "node:test"
import { WebSocket, WebSocketServer } from "ws"
import { edgeWithUnit, key, readKey, readNext, route, untilOpen, withKey } from "./testing/harness.js"

const otherKey = "lsv2_other_key"
const withOther = { "x-api-key": otherKey }
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")
const both = { keys: [sha256(key), sha256(otherKey)] }

/** An edge whose unit streams events and echoes WebSocket messages, and answers `/slow` never. */
async function streamingEdge() {
  const setup = await edgeWithUnit((request, response) => {
    if (request.url === "/slow") return
    response.writeHead(200, { "content-type": request.url === "/wait" ? "application/json" : "text/event-stream" })
    response.write("data: 1\n\n")
    setup.unit.server.once("next" as "close", () => response.write("data: 2\n\n"))
  })
  const sockets = new WebSocketServer({ noServer: true })
  setup.unit.server.on("upgrade", (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.send("hello")
      client.on("message", (data) => client.send(String(data)))
    })
  })
  const take = (generation: number, change: Parameters<typeof route>[2]) =>
    setup.edge.take({ generation, routes: [route("chat", [setup.unit.unit], change)] })
  await take(2, both)
  const open = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(`${setup.chat}${path}`, { method: "POST", headers })
    const reader = response.body?.getReader()
    assert.ok(reader)
    assert.equal(await readNext(reader), "data: 1\n\n")
    return reader
  }
  const socket = async (headers: Record<string, string>) => {
    const client = new WebSocket(`${setup.chat.replace("http", "ws")}/ws`, { headers })
    await once(client, "message")
    return client
  }
  return Object.assign(setup, { take, open, socket })
}

test("E9 a revoked key ends its streams and closes its WebSockets with 4401, and those of other keys go on", async () => {
  await using setup = await streamingEdge()
  const [revoked, waiting, kept] = [
    await setup.open("/runs/stream", withKey),
    await setup.open("/wait", withKey),
    await setup.open("/runs/stream", withOther),
  ]
  const [closing, echo] = [await setup.socket(withKey), await setup.socket(withOther)]
  const slow = fails(fetch(`${setup.chat}/slow`, { method: "POST", headers: withKey }))
  await untilOpen(setup.edge, { requests: 2 })

  const broken = [fails(revoked.read()), fails(waiting.read()), slow]
  const closed = once(closing, "close") as Promise<[number, Buffer]>
  await setup.take(3, { keys: [sha256(otherKey)] })

  const [code, reason] = await closed
  assert.deepEqual([code, String(reason)], [4401, "the API key was revoked or has expired"])
  assert.deepEqual(await Promise.all(broken), [true, true, true])
  setup.unit.server.emit("next")
  assert.equal(await readNext(kept), "data: 2\n\n")
  echo.send("still here")
  assert.equal(String((await once(echo, "message"))[0]), "still here")
  await untilOpen(setup.edge, { requests: 0, streams: 1, websockets: 1 })
  assert.equal((await fetch(`${setup.chat}/runs/stream`, { headers: withKey })).status, 401)
  echo.terminate()
  await kept.cancel()
})

test("E9 what a key opened goes on while the key moves between routes' lists, units, and tables without its deployment", async () => {
  await using setup = await streamingEdge()
  const stream = await setup.open("/runs/stream", withKey)
  const client = await setup.socket(withKey)

  await setup.edge.take({ generation: 3, routes: [] })
  await setup.take(4, { ...both, units: [] })
  await setup.take(5, { keys: [], read_keys: [sha256(key), sha256(readKey)] })
  await setup.take(6, { keys: [], read_keys: [sha256(readKey)], no_approval_keys: [sha256(key)] })

  setup.unit.server.emit("next")
  assert.equal(await readNext(stream), "data: 2\n\n")
  client.send("still here")
  assert.equal(String((await once(client, "message"))[0]), "still here")
  const closed = once(client, "close")
  await setup.take(7, { keys: [sha256(otherKey)] })
  await closed
  await assert.rejects(stream.read())
})

test("E9 a caller in the middle of a frame, or one that does not read, is cut", async () => {
  await using setup = await streamingEdge()
  const half = await rawSocket(setup.edge.port)
  half.write(Buffer.from([0x81, 0x85, 0, 0, 0, 0, 0x68]))
  const deaf = await rawSocket(setup.edge.port)
  deaf.pause()
  await untilOpen(setup.edge, { websockets: 2 })

  const halfClosed = once(half.resume(), "close")
  await setup.take(3, { keys: [] })

  await halfClosed
  await untilOpen(setup.edge, { websockets: 0 })
  deaf.destroy()
})

const fails = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => false,
    () => true,
  )

/** A WebSocket without a library, after its handshake. */
async function rawSocket(port: number) {
  const socket = connect(port, "127.0.0.1")
  socket.on("error", () => undefined)
  const handshake = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
  const lines = ["GET /d/chat/ws HTTP/1.1", "Host: x", `x-api-key: ${key}`, ...handshake]
  socket.write(`${lines.join("\r\n")}\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}\r\n\r\n`)
  const [head] = (await once(socket, "data")) as [Buffer]
  assert.match(String(head), /^HTTP\/1\.1 101/)
  return socket
}
