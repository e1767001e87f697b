/** Every stream mode compared with recordings of the reference server, with the same graphs (recordings in tests/graphs). */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { FakeServer } from "./testing/fake-server.js"
import { byGroup, inOrder, ours, theirs } from "./testing/recorded-streams.js"
import { byName, readRecording } from "./testing/recording.js"
import { isSince, startWorker } from "./testing/worker.js"

let server: FakeServer
before(async () => {
  server = await startWorker("chat", "agent", "nested", "error", "hitl", "hitl2")
})
after(() => server[Symbol.asyncDispose]())

for (const name of inOrder) {
  test(`the stream of ${name} equals its recording`, async () => {
    const recording = readRecording(name)

    const { events } = await server.run(recording.graphId, recording.run)

    assert.deepEqual(ours(events), theirs(name, recording.events))
  })
}

for (const name of byGroup) {
  test(`each event of ${name} equals its recording`, async () => {
    const recording = readRecording(name)

    const { events } = await server.run(recording.graphId, recording.run)

    assert.deepEqual(byName(ours(events)), byName(theirs(name, recording.events)))
  })
}

test("without stream_subgraphs a subgraph's message is sent as its tokens, since LangGraph 1.7 with the subgraph's node", async () => {
  const { graphId, run } = readRecording("nested-without-stream_subgraphs-multi")

  const { events } = await server.run(graphId, run)

  const messages = events.filter(({ event }) => event === "messages").map(({ data }) => data)
  const told = (messages as [Record<string, unknown>, Record<string, unknown>][]).map(([message, metadata]) => [
    message.content,
    metadata.langgraph_node,
  ])
  const [tokens, node] = [
    [
      ["o", "inner"],
      ["k", "inner"],
    ],
    [["ok", "sub"]],
  ]
  assert.deepEqual(told, isSince("1.7.0") ? node : tokens)
})
