/** Every command of the newer streaming protocol, with the JavaScript SDK and real graphs in both languages (protocol-v2 §1.4). */

import assert from "node:assert/strict"
import { test } from "node:test"
import { Client, type ThreadStream } from "@langchain/langgraph-sdk"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { WebSocket as NodeWebSocket } from "ws"
import { startServerWithDatabase } from "./testing/agent-servers.js"
import { graphLanguages } from "./testing/languages.js"

interface Messages {
  readonly messages: readonly { readonly type: string; readonly content: unknown }[]
}

for (const { name: language, env, skip } of graphLanguages)
  test(`the commands of threads.stream with graphs in ${language}`, { skip }, async (t) => {
    await using server = await startServerWithDatabase({ env })
    const { client } = server
    const bySocket = new Client({ apiUrl: server.url, apiKey: null })
    const webSocketFactory = (url: string) =>
      new NodeWebSocket(url, { headers: server.headers }) as unknown as WebSocket

    /** A thread and its stream. SDKs send commands as requests with the one transport, and on the socket with the other. */
    const open = async (assistantId: string, transport: "sse" | "websocket" = "sse") => {
      const { thread_id: threadId } = await client.threads.create()
      const by = transport === "sse" ? client : bySocket
      const thread = by.threads.stream(threadId, { assistantId, transport, webSocketFactory })
      return Object.assign(thread, { [Symbol.asyncDispose]: () => thread.close() })
    }
    /** Waits until so many runs of the thread are over. */
    const runsEnd = (thread: ThreadStream, count: number) =>
      until(
        async () => {
          const runs = await client.runs.list(thread.threadId)
          return runs.length === count && runs.every(({ status }) => !["pending", "running"].includes(status))
        },
        { what: `${count} runs are over` },
      )

    for (const transport of ["sse", "websocket"] as const) {
      await t.test(`state.get, state.listCheckpoints, state.fork and agent.getTree over ${transport}`, async () => {
        await using thread = await open("chat", transport)
        await thread.run.start({ input: { messages: [{ role: "user", content: "hello" }] } })
        await runsEnd(thread, 1)

        const all = await thread.state.get({ namespace: [] })
        const some = await thread.state.get({ namespace: [], keys: ["nothing"] })
        const { checkpoints } = await thread.state.listCheckpoints({ namespace: [] })
        const older = await thread.state.listCheckpoints({ before: checkpoints[0]?.id ?? "", limit: 1 })
        const { tree } = await thread.agent.getTree()
        const input = { messages: [{ role: "user", content: "again" }] }
        const first = checkpoints.at(-1)?.id ?? ""
        const forked = await thread.state.fork({ checkpoint_id: first, input })
        await runsEnd(thread, 2)

        const { messages } = all.values as unknown as Messages
        assert.deepEqual(fieldsOf(messages, "type"), ["human", "ai"])
        assert.deepEqual([some.values, some.checkpoint?.id], [{}, all.checkpoint?.id])
        assert.equal(all.checkpoint?.id, checkpoints[0]?.id)
        assert.deepEqual(fieldsOf(checkpoints, "step"), [1, 0, -1])
        assert.ok(checkpoints.every(({ timestamp }) => !Number.isNaN(Date.parse(timestamp))))
        assert.deepEqual(older.checkpoints, [checkpoints[1]])
        assert.deepEqual([tree.namespace, tree.status, tree.graph_name], [[], "completed", "chat"])
        assert.equal(forked.thread_id, thread.threadId)
        const { values } = await client.threads.getState<Messages>(thread.threadId)
        assert.deepEqual([values.messages.length, values.messages[0]?.content], [2, "again"])
      })

      await t.test(`input.inject adds a message after the run over ${transport}`, async () => {
        await using thread = await open("chat", transport)
        await thread.run.start({ input: { messages: [{ role: "user", content: "hello" }] } })
        const message = { role: "user", content: "one more thing" } as const

        await thread.input.inject({ namespace: [], message })
        await runsEnd(thread, 2)

        const { values } = await client.threads.getState<Messages>(thread.threadId)
        assert.deepEqual(fieldsOf(values.messages, "type"), ["human", "ai", "human", "ai"])
        assert.equal(values.messages[2]?.content, "one more thing")
      })

      await t.test(`input.respond answers two questions at once over ${transport}`, async () => {
        await using thread = await open("hitl2", transport)
        await thread.run.start({ input: {} })
        await until(() => thread.interrupts.length === 2, { what: "both questions came" })
        const responses = thread.interrupts.map(({ interruptId, namespace }) => ({
          ...{ namespace, interrupt_id: interruptId, response: "yes" },
        }))

        await thread.input.respond({ responses })
        await runsEnd(thread, 2)

        const { values, next } = await client.threads.getState<{ out: string[] }>(thread.threadId)
        assert.deepEqual([values.out, next], [["a:yes", "b:yes"], []])
      })
    }

    await t.test("state.get and agent.getTree show a subgraph", async () => {
      await using thread = await open("deep")
      await thread.run.start({ input: {} })
      await until(() => thread.interrupts.length > 0, { what: "the subgraph asks" })
      await runsEnd(thread, 1)

      const { tree } = await thread.agent.getTree()
      const [child] = tree.children ?? []
      const { values } = await thread.state.get({ namespace: child?.namespace ?? [] })

      assert.equal(tree.status, "interrupted")
      assert.ok(child)
      assert.equal(child.status, "interrupted")
      assert.equal(typeof values, "object")
    })
  })
