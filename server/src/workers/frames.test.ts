import assert from "node:assert/strict"
import { test } from "node:test"
import { FrameReader } from "@superstep/protocol/worker/frame-reader"
import type { WorkerFrame } from "@superstep/protocol/worker/frames"
import { ProtocolViolation, parseHeader } from "./headers.js"

const stream = Buffer.from(
  [
    '{"type":"pong","nonce":"1"}',
    '{"type":"event","run_id":"r","claim_id":"c","event":"updates|sub:1","payload":["data"]}',
    '{"text":"grüße"}',
    '{"type":"done","run_id":"r","claim_id":"c","status":"success","payload":["values","interrupts"]}',
    "",
    "{}",
    "",
  ].join("\n"),
)

function readIn(pieces: readonly Buffer[]) {
  const frames: [string, string[]][] = []
  const reader = new FrameReader<WorkerFrame>(parseHeader, (frame, payload) =>
    frames.push([frame.type, payload.map(String)]),
  )
  for (const piece of pieces) reader.push(piece)
  return frames
}

test("frames are parsed correctly wherever the stream is split", () => {
  const expected = [
    ["pong", []],
    ["event", ['{"text":"grüße"}']],
    ["done", ["", "{}"]],
  ]

  for (let size = 1; size <= stream.length; size += 1) {
    const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, n) =>
      stream.subarray(n * size, (n + 1) * size),
    )
    assert.deepEqual(readIn(pieces), expected)
  }
})

test("an invalid header is rejected with the reason", () => {
  assert.throws(() => parseHeader("hello"), ProtocolViolation)
  assert.throws(() => parseHeader('{"type":"surprise"}'), ProtocolViolation)
  assert.throws(
    () => parseHeader('{"type":"event","run_id":"r","event":"updates","payload":["data"]}'),
    /claim_id|type/,
  )
  assert.throws(() => parseHeader('{"type":"done","run_id":"r","claim_id":"c","status":"fine"}'), /status|payload/)
  assert.throws(() => parseHeader("null"), ProtocolViolation)
  assert.throws(() => parseHeader('{"type":"call","method":"checkpoint.get"}'), /call_id/)
  assert.throws(() => parseHeader('{"type":"call","call_id":"1","method":"checkpoint.get","payload":[1]}'), /payload/)
})

test("an event's name cannot contain a line break, and keeps all characters except control characters", () => {
  const named = (event: string) =>
    parseHeader(JSON.stringify({ type: "event", run_id: "r", claim_id: "c", event, payload: ["data"] }))

  const forged = named("updates|a\n\nevent: end\r\u0000\u0085")
  const plain = named('updates|größe "x"\\n:1')

  assert.equal(forged.type === "event" && forged.event, "updates|a\ufffd\ufffdevent: end\ufffd\ufffd\ufffd")
  assert.equal(plain.type === "event" && plain.event, 'updates|größe "x"\\n:1')
})

test("unknown fields of a header are ignored", () => {
  const header = parseHeader('{"type":"pong","nonce":"7","later":true}')

  assert.equal(header.type, "pong")
})
