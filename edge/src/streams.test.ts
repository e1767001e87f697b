import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http"
import { connect } from "node:net"
import test from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { edgeStatus } from "./client.js"
import { edgeWithUnit, gate, readBody, readNext, untilOpen, withKey } from "./testing/harness.js"

const eventStream = { "content-type": "text/event-stream" }

test("the head of a stream reaches the caller before its first event, and each event before the next is produced", async () => {
  const [firstWanted, secondWanted] = [gate(), gate()]
  await using setup = await edgeWithUnit(async (_, response) => {
    response.writeHead(200, { ...eventStream, "content-location": "/threads/t/runs/r", location: "/threads/t/x" })
    response.flushHeaders()
    await firstWanted.passed
    response.write("data: 1\n\n")
    await secondWanted.passed
    response.end("data: 2\n\n")
  })

  const response = await fetch(`${setup.chat}/runs/stream`, { method: "POST", headers: withKey, body: "{}" })
  const reader = response.body?.getReader()
  assert.ok(reader)
  firstWanted.open()

  assert.equal(await readNext(reader), "data: 1\n\n")
  secondWanted.open()
  assert.equal(await readNext(reader), "data: 2\n\n")
  assert.equal(await readNext(reader), undefined)
  const headers = ["x-accel-buffering", "content-location", "location"].map((name) => response.headers.get(name))
  assert.deepEqual(headers, ["no", "/threads/t/runs/r", "/threads/t/x"])
})

test("large bodies pass completely in both directions, with and without a length", async () => {
  await using setup = await edgeWithUnit((request, response) => {
    request.pipe(response)
  })
  const body = randomBytes(8 * 1024 * 1024)
  const inPieces = new ReadableStream({
    start(controller) {
      for (let at = 0; at < body.length; at += 1_000_000) controller.enqueue(body.subarray(at, at + 1_000_000))
      controller.close()
    },
  })

  const known = await fetch(`${setup.chat}/echo`, { method: "POST", headers: withKey, body })
  const chunked = await fetch(`${setup.chat}/echo`, { method: "PUT", headers: withKey, body: inPieces, duplex: "half" })

  assert.ok(Buffer.from(await known.arrayBuffer()).equals(body))
  assert.ok(Buffer.from(await chunked.arrayBuffer()).equals(body))
})

test("back-pressure: a unit writes only as fast as its caller reads", async () => {
  const pieces = 400
  const piece = Buffer.alloc(100_000)
  let written = 0
  await using setup = await edgeWithUnit(async (_, response) => {
    response.writeHead(200, eventStream)
    for (; written < pieces; written++) if (!response.write(piece)) await once(response, "drain")
    response.end()
  })
  const request = httpRequest(`${setup.chat}/x`, { headers: withKey }).end()
  const [response] = (await once(request, "response")) as [IncomingMessage]
  response.pause()

  // Kernel buffers fill up first; what matters is that the sender stops long before the end.
  let before = -1
  await until(
    async () => {
      const isSteady = before === written && written > 0
      before = written
      await edgeStatus(setup.edge.admin)
      return isSteady
    },
    { what: "the unit waits for its reader" },
  )

  assert.ok(written < pieces, `${written} of ${pieces} pieces were written though nobody read`)
  let bytes = 0
  for await (const chunk of response) bytes += (chunk as Buffer).length
  assert.equal(bytes, pieces * piece.length)
})

test("P1: when a caller leaves a stream, the unit's request is aborted", async () => {
  const left = gate()
  await using setup = await edgeWithUnit((_, response) => {
    response.once("close", left.open)
    response.writeHead(200, eventStream)
    response.write("data: 1\n\n")
  })
  const leave = new AbortController()
  const response = await fetch(`${setup.chat}/x`, { headers: withKey, signal: leave.signal })
  const reader = response.body?.getReader()
  assert.ok(reader)
  await readNext(reader)
  await untilOpen(setup.edge, { requests: 0, streams: 1, websockets: 0, idle_ms: 0 })

  leave.abort()

  await left.passed
  await untilOpen(setup.edge, { streams: 0 })
})

test("P1: when a caller leaves before the answer or while sending, the unit's request is aborted", async () => {
  const seen: IncomingMessage[] = []
  await using setup = await edgeWithUnit((request) => {
    seen.push(request)
    request.resume()
  })
  const waiting = httpRequest(`${setup.chat}/wait`, { headers: withKey }).end()
  const sending = httpRequest(`${setup.chat}/send`, { method: "POST", headers: withKey })
  sending.write("half of it")
  // This test is about to cut them.
  for (const request of [waiting, sending]) request.on("error", () => undefined)
  await until(() => seen.length === 2, { what: "both requests are at the unit" })

  waiting.destroy()
  sending.destroy()

  await until(() => seen.every(({ socket }) => socket.destroyed), { what: "both have ended at the unit" })
  await untilOpen(setup.edge, { requests: 0 })
})

test("P1: when a caller leaves, the requests that it sent behind another one are aborted, too", async () => {
  const seen: IncomingMessage[] = []
  await using setup = await edgeWithUnit((request) => void seen.push(request))
  const { hostname, port, pathname } = new URL(`${setup.chat}/wait`)
  const head = Object.entries({ host: "a", ...withKey }).map(([name, value]) => `${name}: ${value}\r\n`)
  const client = connect(Number(port), hostname)
  client.write(`GET ${pathname} HTTP/1.1\r\n${head.join("")}\r\n`.repeat(2))
  await until(() => seen.length === 2, { what: "both requests are at the unit" })

  client.destroy()

  await until(() => seen.every(({ socket }) => socket.destroyed), { what: "both have ended at the unit" })
  await untilOpen(setup.edge, { requests: 0 })
})

test("P2: when the unit's answer breaks off, the caller's does too", async () => {
  const cut = async (response: ServerResponse) => {
    response.write("data: 1\n\n")
    await until(() => response.writableLength === 0, { what: "the first event is sent" })
    response.destroy()
  }
  await using setup = await edgeWithUnit((request, response) => {
    response.writeHead(200, request.url === "/sized" ? { "content-length": 1000 } : eventStream)
    void cut(response)
  })

  for (const path of ["stream", "sized"]) {
    const response = await fetch(`${setup.chat}/${path}`, { headers: withKey })
    await assert.rejects(response.text(), /terminated/, path)
  }
})

test("connections are kept alive on both sides", async () => {
  const connections = new Set<unknown>()
  await using setup = await edgeWithUnit(async (request, response) => {
    connections.add(request.socket)
    await readBody(request)
    response.end("{}")
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const mine = new Set<unknown>()

  for (let count = 0; count < 10; count++) {
    const request = httpRequest(`${setup.chat}/x`, { method: "POST", headers: withKey, agent }).end("{}")
    const [response] = (await once(request, "response")) as [IncomingMessage]
    mine.add(response.socket)
    assert.equal((await readBody(response)).toString(), "{}")
  }
  agent.destroy()

  assert.equal(connections.size, 1)
  assert.equal(mine.size, 1)
})
