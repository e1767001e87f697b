import assert from "node:assert/strict"
import test from "node:test"
import { socketServer } from "@superstep/toolkit/testing/http-server"
import { BenchFailed } from "./http-client.js"
import { openRawStream } from "./raw-stream.js"

test("a raw listener reads and times the events of a chunked response, and rejects a response that is not a stream", async () => {
  using server = await socketServer((request, response) => {
    if (request.url !== "/stream") return void response.writeHead(404).end()
    for (let number = 0; number < 100; number++) response.write(`event: custom\ndata: ${number} é\n\n`)
    // Each byte is a chunk.
    const split = ": heartbeat\n\nevent: lines\r\ndata: é\r\ndata: b\r\n\r\n"
    for (const byte of Buffer.from(split)) response.write(Buffer.of(byte))
    response.end("event: end\ndata: null\n\n")
  })
  const target = { address: { socketPath: server.socketPath }, prefix: "", headers: {} }

  const [stream, refused] = [openRawStream(target, "/stream"), openRawStream(target, "/nothing")]
  await Promise.all([stream.joined, stream.ended, refused.ended])

  const events = stream.events()
  assert.deepEqual(events[99], { name: "custom", data: "99 é" })
  assert.deepEqual(events.slice(100), [
    { name: "lines", data: "é\nb" },
    { name: "end", data: "null" },
  ])
  assert.ok(stream.arrivedAt("data: 0 ") <= stream.arrivedAt("event: end"))
  assert.ok(stream.arrivedAt("event: end") <= stream.lastAt())
  assert.ok(Number.isNaN(stream.arrivedAt("event: other")))
  assert.throws(() => refused.events(), BenchFailed)
})
