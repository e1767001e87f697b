/** Streams that are produced faster than their clients read: the official SDK with its defaults gets all of them. */
import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { serverForAll } from "./testing/agent-servers.js"
import { languagesOf } from "./testing/languages.js"

const kilobyte = 1024

const cases = [
  { events: 60, eventBytes: 500 * kilobyte },
  { events: 2000, eventBytes: 20 * kilobyte },
]

const languages = languagesOf({
  JavaScript: "tests/soak-graphs/langgraph.json",
  Python: "workers/python/testing/twins/langgraph.json",
})

for (const { name, env, skip } of languages) {
  describe(`one node in ${name} sends many large events at once`, { skip }, () => {
    const server = serverForAll({ env })

    for (const { events, eventBytes } of cases) {
      test(`the official SDK gets ${events} events of ${eventBytes / kilobyte} KB in order, once, and the final state`, async () => {
        const { thread_id } = await server.client.threads.create()
        const numbers: unknown[] = []
        const others: unknown[] = []

        const input = { events, eventBytes, atOnce: true }
        const stream = server.client.runs.stream(thread_id, "flood", { input, streamMode: ["custom", "values"] })
        for await (const { event, data } of stream) {
          if (event === "custom") numbers.push((data as { event: number }).event)
          else others.push(event === "values" ? `values, sent ${(data as { sent?: number }).sent}` : event)
        }

        assert.deepEqual(
          numbers,
          Array.from({ length: events }, (_, number) => number),
        )
        assert.deepEqual(others, ["metadata", "values, sent undefined", `values, sent ${events}`, "end"])
      })
    }
  })
}
