/** What the callback handlers of a project in TypeScript have done when its run ends. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { startGraphServer } from "./testing/graph-server.js"

const input = { messages: [{ role: "user", content: "hi" }] }

for (const [title, env, expected] of [
  ["a graph goes on when its callback handlers have returned", {}, ["hi", "Hi!", "written by the handler"]],
  ["a project may have them called in the background", { LANGCHAIN_CALLBACKS_BACKGROUND: "true" }, ["hi", "Hi!"]],
] as const) {
  test(title, async () => {
    await using server = await startGraphServer({ SUPERSTEP_AGENT_ENV: JSON.stringify(env) })

    const values = await server.client.runs.wait(null, "callbacks", { input })

    const { messages } = values as { messages: { content: string }[] }
    assert.deepEqual(
      messages.map(({ content }) => content),
      expected,
    )
  })
}
