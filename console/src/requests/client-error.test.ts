import assert from "node:assert/strict"
import { test } from "node:test"
import { Client } from "@langchain/langgraph-sdk/client"
import { agentFailureOf } from "./client-error.js"

/** What the official client throws for such a reply. */
const thrownFor = (status: number, body: string): Promise<unknown> => {
  const fetch = async () => new Response(body, { status })
  const client = new Client({ apiUrl: "http://agent.example", apiKey: null, callerOptions: { fetch, maxRetries: 0 } })
  return client.threads.get("t").catch((error: unknown) => error)
}

test("replies of an agent become a sentence, and other errors stay what they are", async () => {
  const busy = agentFailureOf(await thrownFor(409, '{"detail":"the thread is busy","code":"conflict"}'))
  const text = agentFailureOf(await thrownFor(502, "bad gateway"))

  assert.deepEqual([busy?.message, text?.message], ["the thread is busy", "bad gateway"])
  assert.equal(agentFailureOf(new TypeError("Failed to fetch")), undefined)
})
