/** Protocol events compared with recordings of the reference server, with the same graphs (recordings in tests/graphs). */
import assert from "node:assert/strict"
import { test } from "node:test"
import { languages } from "./testing/languages.js"
import { comparedEvents, inPython, readProtocolRecording } from "./testing/protocol-recording.js"

for (const { name: language, skip, start } of languages) {
  for (const name of ["v2-chat", "v2-agent", "v2-nested", "v2-error", "v2-hitl", "v2-hitl2"]) {
    test(`the protocol events of ${name} equal their recording (${language})`, { skip }, async () => {
      const recording = readProtocolRecording(name)
      await using server = await start(recording.graphId)

      const { events } = await server.run(recording.graphId, recording.run)

      const expected = language === "Python" ? inPython(recording.events) : recording.events
      assert.deepEqual(comparedEvents(events), expected)
    })
  }
}
