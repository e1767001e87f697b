import assert from "node:assert/strict"
import test from "node:test"
import { createEventReader, type StreamedEvent } from "./event-reader.js"

const stream =
  'event: metadata\ndata: {"run_id":"é"}\nid: 1\n\n: heartbeat\n\nevent: end\r\ndata: null\r\n\r\ndata: a\ndata: b\n\n'

test("events are parsed correctly wherever their bytes are split", () => {
  const bytes = Buffer.from(stream)
  const expected: StreamedEvent[] = [
    { name: "metadata", data: '{"run_id":"é"}' },
    { name: "end", data: "null" },
    { name: "message", data: "a\nb" },
  ]

  for (const size of [1, 2, 7, bytes.length]) {
    const read = createEventReader()
    const events: StreamedEvent[] = []
    for (let at = 0; at < bytes.length; at += size) events.push(...read(bytes.subarray(at, at + size)))
    assert.deepEqual(events, expected, `pieces of ${size} bytes`)
  }
})
