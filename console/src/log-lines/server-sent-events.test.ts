import assert from "node:assert/strict"
import { test } from "node:test"
import { eventsOf, type ServerEvent } from "./server-sent-events.js"

const read = async (pieces: readonly string[]): Promise<ServerEvent[]> => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece))
      controller.close()
    },
  })
  const events: ServerEvent[] = []
  for await (const event of eventsOf(body)) events.push(event)
  return events
}

test("events are whole, however their bytes are cut; comments and a cut end are left out", async () => {
  const text =
    ': logs\n\nevent: log\nid: 7\ndata: {"a":1}\n\n: heartbeat\n\nid: 8\ndata: x\ndata: y\n\nid: 9\ndata: cut'

  const expected = [
    { id: "7", event: "log", data: '{"a":1}' },
    { id: "8", event: "message", data: "x\ny" },
  ]
  assert.deepEqual(await read([text]), expected)
  assert.deepEqual(await read([...text]), expected)
})
