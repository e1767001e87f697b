import assert from "node:assert/strict"
import { PassThrough, Writable } from "node:stream"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { FrameReader } from "@superstep/protocol/worker/frame-reader"
import { parseHeader } from "./connection.js"
import { FrameWriter } from "./frame-writer.js"

test("a payload line within one chunk is a view of the chunk, not a copy", () => {
  const chunk = Buffer.from('{"type":"a","payload":["x"]}\n{"big":1}\n')

  const payloads: (readonly Buffer[])[] = []
  new FrameReader(parseHeader, (_, payload) => payloads.push(payload)).push(chunk)

  assert.equal(payloads[0]?.[0]?.buffer, chunk.buffer)
})

test("the first frames of a tick are sent at once, all others of the tick in one write", async () => {
  const writes: string[] = []
  const writer = new FrameWriter(
    new Writable({
      write(chunk, _encoding, callback) {
        writes.push(String(chunk))
        callback()
      },
    }),
  )

  writer.send({ payload: ["x", "y"] }, ["1", ""])
  writer.send({ payload: ["z"] }, ["2"])
  await Promise.resolve()
  const early = [...writes]
  for (let frame = 0; frame < 3; frame++) {
    writer.send({})
    await Promise.resolve()
  }
  await turn()

  assert.deepEqual(early, ['{"payload":["x","y"]}\n1\n\n{"payload":["z"]}\n2\n'])
  assert.deepEqual(writes.slice(1), ["{}\n{}\n{}\n"])
})

test("writers wait while the socket is full, but not after it has closed", async () => {
  const socket = new PassThrough({ highWaterMark: 4 })
  const writer = new FrameWriter(socket)
  writer.send({})
  assert.equal(writer.full(), undefined)

  writer.send({ payload: ["x"] }, ["more than four bytes"])
  await turn()
  const full = writer.full()
  assert.ok(full)
  socket.resume()
  await full

  assert.equal(writer.full(), undefined)
  socket.pause()
  writer.send({ payload: ["x"] }, ["more than four bytes"])
  await turn()
  const closing = writer.full()
  socket.destroy()
  await closing
})
