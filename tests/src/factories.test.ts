/** A graph that is made by its config is the same graph when somebody asks for a thread's state. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { startServerWithDatabase } from "./testing/agent-servers.js"
import { languagesOf } from "./testing/languages.js"

const languages = languagesOf({
  JavaScript: "tests/graphs/quick.json",
  Python: "workers/python/testing/graphs/langgraph.json",
})

for (const { name, env, skip } of languages) {
  test(`a factory in ${name} gets the configuration of the run or the assistant with every question`, {
    skip,
  }, async (t) => {
    await using server = await startServerWithDatabase({ env })
    const { client } = server
    const config = { configurable: { node: "approve" } }
    const { assistant_id } = await client.assistants.create({ graphId: "named", config })

    /** A thread that stands before the node, by what an assistant or a run says. */
    const stopped = async (assistantId: string, node: string, options: object) => {
      const { thread_id } = await client.threads.create()
      await client.runs.wait(thread_id, assistantId, { input: { steps: [] }, interruptBefore: [node], ...options })
      return thread_id
    }
    const shown = async (threadId: string) => {
      const states = [
        await client.threads.getState(threadId),
        ...(await client.threads.getHistory(threadId, { limit: 1 })),
      ]
      return states.map(({ next, tasks }) => [next, tasks.map((task) => task.name)])
    }

    await t.test("of the assistant", async () => {
      const threadId = await stopped(assistant_id, "approve", {})
      assert.deepEqual(await shown(threadId), Array(2).fill([["approve"], ["approve"]]))
    })

    await t.test("of the run", async () => {
      const threadId = await stopped(assistant_id, "check", { config: { configurable: { node: "check" } } })
      assert.deepEqual(await shown(threadId), Array(2).fill([["check"], ["check"]]))
    })

    await t.test("for an update as one of its nodes", async () => {
      const threadId = await stopped(assistant_id, "approve", {})
      const before = await client.threads.getState(threadId)
      await client.threads.updateState(threadId, { values: { steps: ["by hand"] }, asNode: "approve" })
      const after = await client.threads.getState(threadId)
      const end = await client.runs.wait(threadId, assistant_id, { input: null })

      assert.deepEqual([after.next, end], [["after"], { steps: ["by hand", "after"] }])
      // A rollback of the run must leave the update alone.
      assert.notEqual(before.metadata?.run_id, undefined)
      assert.equal(after.metadata?.run_id, undefined)
    })

    await t.test("for a thread that is made with a state", async () => {
      const metadata = { assistant_id }
      const supersteps = [{ updates: [{ values: { steps: ["by hand"] }, asNode: "approve" }] }]
      const { thread_id } = await client.threads.create({ graphId: "named", metadata, supersteps })

      assert.deepEqual(await shown(thread_id), Array(2).fill([["after"], ["after"]]))
    })
  })
}
