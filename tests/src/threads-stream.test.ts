/** `threads.stream` of the JavaScript SDK, over an event stream and over a WebSocket, with real graphs. */
import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { Client } from "@langchain/langgraph-sdk"
import type { Database } from "@superstep/toolkit/db/database"
import { until } from "@superstep/toolkit/testing/until"
import { WebSocket as NodeWebSocket } from "ws"
import { type AgentServerProcess, agentDatabase, startAgentServer } from "./testing/agent-servers.js"
import { graphLanguages } from "./testing/languages.js"
import { messageTexts } from "./testing/message-texts.js"

const [javascript] = graphLanguages

for (const transport of ["sse", "websocket"] as const) {
  describe(`over ${transport}`, () => {
    let db: Database
    let server: AgentServerProcess
    // The SDK refuses to open a WebSocket for a client with headers: pages cannot set any.
    const clientOf = () =>
      transport === "sse"
        ? server.client
        : new Client({ apiUrl: server.url, apiKey: null, streamProtocol: "v2-websocket" })
    const webSocketFactory = (url: string) =>
      new NodeWebSocket(url, { headers: server.headers }) as unknown as WebSocket
    before(async () => {
      db = await agentDatabase()
      server = await startAgentServer({ databaseUri: db.uri, env: javascript.env })
    })
    after(async () => {
      await server?.[Symbol.asyncDispose]()
      await db?.close()
    })

    test("a run streams its message, and its output is the state after it", async () => {
      const { thread_id } = await server.client.threads.create()
      const thread = clientOf().threads.stream(thread_id, { assistantId: "chat", transport, webSocketFactory })
      const reading = messageTexts(thread.messages)
      await thread.run.start({ input: { messages: [{ role: "user", content: "hello" }] } })

      const texts = await reading
      const output = (await thread.output) as { messages: { content: unknown }[] }
      await thread.close()

      assert.deepEqual(texts, ["Hi!"])
      assert.equal(output.messages.length, 2)
    })

    test("an interrupt is answered, and the run goes on to its end", async () => {
      const { thread_id } = await server.client.threads.create()
      const thread = clientOf().threads.stream(thread_id, { assistantId: "hitl", transport, webSocketFactory })
      const events: string[] = []
      thread.onEvent(({ method, params: { namespace, data } }) => {
        if (namespace.length === 0 && method === "lifecycle") events.push((data as { event: string }).event)
        if (method.startsWith("input.")) events.push(method)
      })
      await thread.run.start({ input: { x: 0 } })
      await until(() => events.includes("interrupted"), { what: "the run asks" })
      const [interrupt] = thread.interrupts
      assert.deepEqual(interrupt?.payload, { question: "continue?" })

      await thread.respondInput({ namespace: [], interrupt_id: interrupt?.interruptId ?? "", response: "yes" })
      await until(() => events.at(-1) === "completed", { what: "the run is over" })
      await thread.close()

      const state = await server.client.threads.getState(thread_id)
      assert.deepEqual([state.next, (state.values as { y?: unknown }).y], [[], "yes"])
      assert.deepEqual(events, [
        ...["running", "input.requested", "interrupted"],
        ...["running", "input.answered", "completed"],
      ])
    })
  })
}
