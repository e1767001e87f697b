/** The stream of the graph `functional`, in JavaScript and in Python. */
import assert from "node:assert/strict"
import type { FakeServer } from "./fake-server.js"

/** Runs the graph. @returns the names of its `messages` and `tools` events, each once, without the ids of tasks */
export async function eventsByNode(server: FakeServer, stream_subgraphs: boolean) {
  const stream_modes = ["messages-tuple", "tools", "values"]
  const input = { word: "hey" }
  const { events, status, values } = await server.run("functional", { input, stream_modes, stream_subgraphs })
  assert.deepEqual([status, values], ["success", { said: "ok", shouted: "hey!" }])
  const names = [...new Set(events.map(({ event }) => event.replaceAll(/:[0-9a-f-]{36}/g, ":<task>")))]
  const of = (mode: string) => names.filter((name) => name.split("|")[0] === mode)
  return { messages: of("messages"), tools: of("tools") }
}
