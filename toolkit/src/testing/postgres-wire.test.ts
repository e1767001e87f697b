import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "./fields-of.js"
import { FrameSplitter, Session } from "./postgres-wire.js"

/** A message of Postgres' protocol, as bytes. */
function message(type: string, ...texts: string[]): Buffer {
  const body = Buffer.from(texts.map((text) => `${text}\0`).join(""))
  const size = Buffer.alloc(4)
  size.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), size, body])
}

const startup = Buffer.from([0, 0, 0, 8, 0, 3, 0, 0])
const ready = message("Z")

test("pipelined statements are answered in order, and a prepared one is known by its name", () => {
  const session = new Session()
  const sent = Buffer.concat([
    startup,
    message("P", "insert_1", "insert into one"),
    message("B", "", "insert_1"),
    message("E", ""),
    message("S"),
    message("Q", "commit"),
    message("B", "", "insert_1"),
    message("E", ""),
    message("S"),
  ])

  const splitter = new FrameSplitter("client")
  // One byte at a time, as the worst network does.
  const units = [...sent].flatMap((_, place) =>
    splitter.push(sent.subarray(place, place + 1)).flatMap((frame) => session.sent(frame) ?? []),
  )
  const replies = new FrameSplitter("server").push(Buffer.concat([ready, ready, ready]))
  const answered = replies.map((frame) => session.received(frame)?.statements)

  assert.deepEqual(fieldsOf(units, "statements"), [["insert into one"], ["commit"], ["insert into one"]])
  assert.deepEqual(answered, [["insert into one"], ["commit"], ["insert into one"]])
  assert.equal(session.answered, undefined)
})

test("a client that asks for TLS is told to connect without it", () => {
  const request = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
  assert.throws(() => new FrameSplitter("client").push(request), /without TLS/)
})
