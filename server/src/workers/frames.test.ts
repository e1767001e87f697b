import assert from "node:assert/strict"
import { test } from "node:test"
import { ProtocolViolation, parseHeader } from "./headers.js"

test("an invalid header is rejected with the reason", () => {
  assert.throws(() => parseHeader("hello"), ProtocolViolation)
  assert.throws(() => parseHeader('{"type":"surprise"}'), ProtocolViolation)
  const withoutClaim = '{"type":"event","run_id":"r","event":"updates","payload":["data"]}'
  assert.throws(() => parseHeader(withoutClaim), /claim_id|type/)
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
