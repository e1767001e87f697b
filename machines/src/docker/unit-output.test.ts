import assert from "node:assert/strict"
import { EventEmitter } from "node:events"
import type { ServerResponse } from "node:http"
import test from "node:test"
import { socketServer } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import type { Piece } from "../parts/output/engine-output.js"
import { labels } from "./container.js"
import { containersOf } from "./containers.js"
import { engineAt } from "./engine.js"
import { piecesOf, sinceOf, unitOutput } from "./unit-output.js"

const time = (nanoseconds: number) => `2026-11-25T09:00:00.00000000${nanoseconds}Z`
const piece = (at: number, stream: number, text: string): Piece => ({
  time: time(at),
  stream,
  content: Buffer.from(text),
})

const sent = (stream: number, text: string) => {
  const header = Buffer.alloc(8)
  header.writeUInt8(stream)
  header.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([header, Buffer.from(text)])
}

test("an engine's output is read piece by piece, wherever its bytes are divided, and asked for in seconds", async () => {
  const bytes = Buffer.concat([sent(1, `${time(1)} a b\n`), sent(2, `${time(1)} half`)])

  for (const size of [1, 7, bytes.length]) {
    const chunks = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    const pieces: Piece[] = []
    for await (const it of piecesOf(chunks())) pieces.push(it)
    assert.deepEqual(pieces, [piece(1, 1, "a b\n"), piece(1, 2, "half")])
  }
  assert.deepEqual(sinceOf({ sinceMs: 1_700_000_000_007 }), { since: "1700000000.007" })
  assert.deepEqual(sinceOf({}), {})
})

/** An engine with one container, which prints `output`, or what the test sends. Streams that follow it end when they are told to. */
async function engineWithContainer(send?: (response: ServerResponse) => void) {
  const now = { state: "running", output: [sent(1, `${time(1)} one\n`)] }
  const endings = new EventEmitter()
  const server = await socketServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://engine")
    response.writeHead(200, { "content-type": "application/json" })
    if (searchParams.has("follow")) {
      endings.once("end", () => response.end())
      return response.flushHeaders()
    }
    if (pathname === "/containers/c1/logs" && send) return send(response)
    if (pathname === "/containers/c1/logs") return void response.end(Buffer.concat(now.output))
    const container = { Id: "c1", Created: 1, State: now.state, Labels: { [labels.unit]: "u1" } }
    response.end(JSON.stringify(now.state === "removed" ? [] : [container]))
  })
  const endWatches = () => endings.emit("end")
  const engine = engineAt(server.socketPath)
  const containers = containersOf(engine, "home")
  const folder = temporaryFolder()
  const output = unitOutput({ engine, containers }, () => folder)
  return { containers, output, now, endWatches, [Symbol.dispose]: server[Symbol.dispose] }
}

test("what is kept of a removed container is read while the stream that follows it has not ended", async () => {
  using place = await engineWithContainer()
  const { containers, output, now } = place
  let hasEnded = false
  const onEnd = () => {
    hasEnded = true
  }
  await output.watchLogs("u1", () => undefined, onEnd)
  const first = await output.logs("u1", "")
  const silence = await output.logs("u1", first.next)

  now.output.push(sent(1, `${time(2)} two\n`))
  now.state = "exited"
  const container = await containers.find("u1")
  assert.ok(container)
  await output.keep(container)
  now.state = "removed"
  const rest = await output.logs("u1", first.next)
  assert.equal(hasEnded, false)
  place.endWatches()
  await until(() => hasEnded, { what: "the watch says that it has ended" })

  assert.deepEqual([first.lines, silence.lines, rest.lines], [["one"], [], ["two"]])
})

test("of a long output only as much is read as is stored at once", async () => {
  const line = sent(1, `${time(1)} ${"x".repeat(999)}\n`)
  let sentBytes = 0
  using place = await engineWithContainer((response) => {
    const send = () => {
      while (!response.destroyed && sentBytes < 100_000 * line.length) {
        sentBytes += line.length
        if (!response.write(line)) return
      }
      response.end()
    }
    response.on("drain", send)
    send()
  })

  const { lines } = await place.output.logs("u1", "")

  assert.ok(lines.length > 1000 && lines.length < 2000, `${lines.length} lines`)
  assert.ok(sentBytes < 20 * 1024 * 1024, `${sentBytes} bytes were read`)
})
