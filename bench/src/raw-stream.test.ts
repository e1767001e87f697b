import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer } from "node:http"
import { join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { BenchFailed } from "./http-client.js"
import { openRawStream } from "./raw-stream.js"

test("a raw listener reads and times the events of a chunked response, and rejects a response that is not a stream", async () => {
  const socketPath = join(temporaryFolder(), "server.sock")
  const server = createServer((request, response) => {
    if (request.url !== "/stream") return response.writeHead(404).end()
    for (let number = 0; number < 100; number++) response.write(`event: custom\ndata: ${number} é\n\n`)
    return response.end("event: end\ndata: null\n\n")
  }).listen(socketPath)
  await once(server, "listening")
  const target = { address: { socketPath }, prefix: "", headers: {} }

  const [stream, refused] = [openRawStream(target, "/stream"), openRawStream(target, "/nothing")]
  await Promise.all([stream.joined, stream.ended, refused.ended])
  server.close()

  const events = stream.events()
  assert.deepEqual(events[99], { name: "custom", data: "99 é" })
  assert.deepEqual(events.at(-1), { name: "end", data: "null" })
  assert.equal(events.length, 101)
  assert.ok(stream.arrivedAt("data: 0 ") <= stream.arrivedAt("event: end"))
  assert.ok(stream.arrivedAt("event: end") <= stream.lastAt())
  assert.ok(Number.isNaN(stream.arrivedAt("event: other")))
  assert.throws(() => refused.events(), BenchFailed)
})
