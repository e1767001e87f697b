import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough, Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { after, test } from "node:test"
import { unixAddress } from "./address.js"
import {
  BodyTooLarge,
  type ForwardedRequest,
  forward,
  keptConnections,
  NotSent,
  oneConnection,
  type StreamedBody,
} from "./forward.js"
import { startTarget } from "./testing/hostile-requests.js"

const folder = mkdtempSync(join(tmpdir(), "sf-"))
after(() => rmSync(folder, { recursive: true, force: true }))

let sockets = 0
const newSocket = (): string => join(folder, `${++sockets}.sock`)

type Way = Parameters<typeof forward>[0]

/** Sends a request and reads its complete response. */
async function send(way: Way, change: Partial<ForwardedRequest>): Promise<{ status: number; body: string }> {
  const sink = new PassThrough()
  let status = 0
  const onAnswer = (told: number) => {
    status = told
    return sink
  }
  const signal = new AbortController().signal
  const request = { method: "POST", path: "/x", headers: ["Host", "a"], body: null, signal, ...change }
  const [, body] = await Promise.all([forward(way, request, { onAnswer }), text(sink).catch(() => "cut")])
  return { status, body }
}

async function startServer(listener: RequestListener) {
  const socketPath = newSocket()
  const server = createServer(listener).listen(socketPath)
  await once(server, "listening")
  const dispose = async () => {
    server.close()
    server.closeAllConnections()
  }
  return { socketPath, server, [Symbol.asyncDispose]: dispose }
}

const hidden = "DELETE /y HTTP/1.1\r\nHost: a\r\n\r\n"
const pieces = (): Readable => Readable.from([Buffer.from(hidden.slice(0, 9)), Buffer.from(hidden.slice(9))])

test("a body of any method and kind is framed, once, and the connection stays usable", async () => {
  const socketPath = newSocket()
  await using target = await startTarget(socketPath)
  const pool = keptConnections(unixAddress(socketPath), {})
  const bodies: (() => [kind: string, body: ForwardedRequest["body"], expected: string])[] = [
    () => ["bytes", Buffer.from(hidden), hidden],
    () => ["a stream of known length", { source: pieces(), length: hidden.length }, hidden],
    () => ["a stream", { source: pieces() }, hidden],
    () => ["an empty stream", { source: Readable.from([]) }, ""],
    () => ["nothing", null, ""],
  ]

  for (const method of ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "PROPFIND"]) {
    for (const body of bodies) {
      const [kind, sent, expected] = body()
      await send(pool, { method, body: sent })
      const seen = target.seen.splice(0)

      assert.deepEqual(
        seen.map((one) => [one.method, one.body]),
        [[method, expected]],
        `${method} with ${kind}`,
      )
      const framing = ["content-length", "transfer-encoding"].filter((name) => seen[0]?.headers[name])
      assert.ok(expected === "" || framing.length === 1, `${method} with ${kind}: ${framing}`)
    }
  }
  assert.deepEqual(target.garbage, [])
  await pool.destroy()
})

test("a body of another length than announced, or above its limit, aborts the request", async () => {
  const socketPath = newSocket()
  await using target = await startTarget(socketPath)

  for (const length of [hidden.length - 1, hidden.length + 1]) {
    for (const method of ["POST", "DELETE", "GET"]) {
      const broken = send(oneConnection(socketPath), { method, body: { source: pieces(), length } })
      await assert.rejects(broken, (error) => !(error instanceof NotSent))
    }
  }

  const tooLong = { source: pieces(), limitBytes: hidden.length - 1 }
  await assert.rejects(send(oneConnection(socketPath), { body: tooLong }), BodyTooLarge)
  assert.deepEqual([target.seen, target.garbage], [[], []])
})

test("a body that could not be sent was not read, and can be sent to another server", async () => {
  const socketPath = newSocket()
  await using target = await startTarget(socketPath)
  const body: StreamedBody = { source: pieces(), length: hidden.length }

  for (let count = 0; count < 20; count++) {
    await assert.rejects(send(keptConnections(unixAddress(newSocket()), {}), { body }), NotSent)
  }
  await send(oneConnection(socketPath), { body })

  const bodies = target.seen.map((one) => one.body)
  assert.deepEqual(bodies, [hidden])
  assert.equal(body.source.listenerCount("close"), 0)
})

test("a request is sent once, whenever its connection breaks", async () => {
  let requests = 0
  await using server = await startServer((request, response) => {
    requests += 1
    if (requests % 2 === 1) response.end("fine")
    else request.socket.destroy()
  })
  const pool = keptConnections(unixAddress(server.socketPath), {})

  for (const method of ["GET", "POST", "PUT", "DELETE"]) {
    assert.equal((await send(pool, { method })).body, "fine")
    // On the kept-alive connection.
    await assert.rejects(send(pool, { method }), (error) => !(error instanceof NotSent))
  }

  assert.equal(requests, 8)
  await pool.destroy()
})

test("a body that fails before or after connecting fails only its own request", async () => {
  const socketPath = newSocket()
  await using target = await startTarget(socketPath)
  const broken = new Error("the caller has left")
  const early = new PassThrough()
  early.destroy(broken)
  const late = new PassThrough()
  late.write("half of it")

  const atOnce = send(oneConnection(socketPath), { body: { source: early } })
  const sending = send(oneConnection(socketPath), { body: { source: late } })
  await Promise.all([
    assert.rejects(atOnce, (error) => !(error instanceof NotSent)),
    once(target.server, "request").then(() => late.destroy(broken)),
    assert.rejects(sending, broken),
  ])

  assert.deepEqual([target.seen, target.garbage], [[], []])
})

test("a response that arrives before the end of the body is read, and the body's source is not destroyed", async () => {
  await using server = await startServer((_, response) => void response.writeHead(401).end("not you"))
  const source = new PassThrough()
  source.write("half of it")

  const answer = await send(oneConnection(server.socketPath), { body: { source } })

  assert.deepEqual(answer, { status: 401, body: "not you" })
  assert.equal(source.destroyed, false)
})

test("an aborted response is aborted for its reader, too", async () => {
  await using server = await startServer((request, response) => {
    response.writeHead(200, { "content-length": 1000 })
    response.write("half of it", () => request.socket.destroy())
  })

  await assert.rejects(send(oneConnection(server.socketPath), {}), /closed/)
})

test("a signal aborts a request that waits for its response", async () => {
  await using server = await startServer(() => undefined)
  const leave = new AbortController()
  const waiting = assert.rejects(
    send(oneConnection(server.socketPath), { signal: leave.signal }),
    /the request was aborted/,
  )
  const [request] = await once(server.server, "request")
  const closed = once(request.socket, "close")

  leave.abort()

  await Promise.all([waiting, closed])
})

test("closing the reader of a response aborts the request", async () => {
  await using server = await startServer((_, response) => void response.write("first"))
  const sink = new PassThrough()
  const signal = new AbortController().signal
  const stream = { method: "GET", path: "/stream", headers: [], body: null, signal }
  const reading = assert.rejects(
    forward(oneConnection(server.socketPath), stream, { onAnswer: () => sink }),
    /the reader of the response was closed/,
  )
  const [request] = await once(server.server, "request")
  const closed = once(request.socket, "close")
  await once(sink, "data")

  sink.destroy()

  await Promise.all([reading, closed])
})
