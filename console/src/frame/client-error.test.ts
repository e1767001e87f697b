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

test("a refusal by the agent's access rules is told from one by the edge", async () => {
  const byRules = agentFailureOf(await thrownFor(401, '{"detail":"a user must sign in","code":"unauthenticated"}'))
  const byEdge = agentFailureOf(
    await thrownFor(403, '{"detail":"this key may only read","code":"scope_missing","request_id":"r"}'),
  )

  assert.deepEqual([byRules?.isByRules, byRules?.error.message], [true, "a user must sign in"])
  assert.deepEqual([byEdge?.isByRules, byEdge?.error.message], [false, "this key may only read"])
})

test("other replies of an agent become a sentence, and other errors stay what they are", async () => {
  const busy = agentFailureOf(await thrownFor(409, '{"detail":"the thread is busy","code":"conflict"}'))
  const text = agentFailureOf(await thrownFor(502, "bad gateway"))

  assert.deepEqual(
    [busy?.isByRules, busy?.error.message, text?.error.message],
    [false, "the thread is busy", "bad gateway"],
  )
  assert.equal(agentFailureOf(new TypeError("Failed to fetch")), undefined)
})
