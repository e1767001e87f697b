/** Protocol events compared with recordings of the reference server, with the same graphs (recordings in tests/graphs). */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { FakeServer } from "./testing/fake-server.js"
import { comparedEvents, readProtocolRecording } from "./testing/protocol-recording.js"
import { startWorker } from "./testing/worker.js"

let server: FakeServer
before(async () => {
  server = await startWorker("chat", "agent", "nested", "error", "hitl", "hitl2")
})
after(() => server[Symbol.asyncDispose]())

for (const name of ["v2-chat", "v2-agent", "v2-nested", "v2-error", "v2-hitl", "v2-hitl2"]) {
  test(`the protocol events of ${name} equal their recording`, async () => {
    const recording = readProtocolRecording(name)

    const { events } = await server.run(recording.graphId, recording.run)

    assert.deepEqual(comparedEvents(events), recording.events)
  })
}
