/** An event is named after the graph that sent it, with every version of LangGraph and in both languages. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { eventsByNode } from "../testing/functional-graph.js"
import { isSince, startWorker } from "../testing/worker.js"

test("in a functional graph a task is not a subgraph, and a tool's event is named after the calling graph", async () => {
  await using server = await startWorker("functional")

  const [deep, flat] = [await eventsByNode(server, true), await eventsByNode(server, false)]

  assert.deepEqual(deep, { messages: ["messages"], tools: ["tools|functional:<task>"] })
  // Since LangGraph 1.7 tools of a subgraph send events only if subgraphs are streamed.
  assert.deepEqual(flat, { messages: ["messages"], tools: isSince("1.7.0") ? [] : ["tools"] })
})
