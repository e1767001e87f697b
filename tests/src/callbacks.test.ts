/** What the callback handlers of a project in TypeScript have done when its run ends. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { startGraphServer } from "./testing/graph-server.js"

test("a graph goes on when its callback handlers have returned", async () => {
  await using server = await startGraphServer()
  const input = { messages: [{ role: "user", content: "hi" }] }

  const values = await server.client.runs.wait(null, "callbacks", { input })

  const { messages } = values as { messages: { content: string }[] }
  assert.deepEqual(fieldsOf(messages, "content"), ["hi", "Hi!", "written by the handler"])
})
