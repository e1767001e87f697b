import assert from "node:assert/strict"
import { test } from "node:test"
import { Client } from "@langchain/langgraph-sdk/client"
import { type ApiError, isSignedOut, jsonOf } from "../requests/api-error.js"
import { agentFailureOf } from "../requests/client-error.js"
import { explained } from "./refusal.js"

const reply = (status: number, revision?: string) =>
  new Response('{"detail":"Who are you?","code":"unauthenticated"}', {
    status,
    headers: revision === undefined ? {} : { "x-revision-id": revision },
  })
const deployed = { isDeployed: true, mayRun: true }

const errorOf = async (refusal: Promise<Response>) =>
  jsonOf(await refusal).then(
    () => assert.fail("it was no refusal"),
    (error: unknown) => error as ApiError,
  )

test("a refusal by the agent's rules says what is true of its login, and one by the edge is left as it is", async () => {
  const refused = await errorOf(explained(reply(401, "r1"), deployed))
  const reads = await errorOf(explained(reply(401, "r1"), { ...deployed, mayRun: false }))
  const forbidden = await errorOf(explained(reply(403, "r1"), deployed))
  const byEdge = await errorOf(explained(reply(401), deployed))
  const inDev = await errorOf(explained(reply(401), { isDeployed: false, mayRun: true }))

  assert.deepEqual([refused.message, isSignedOut(refused)], ["Who are you?", false])
  for (const { next = "" } of [refused, inDev]) assert.match(next, /asks for its own login.*disable_studio_auth is set/)
  assert.match(reads.next ?? "", /yours may only read/)
  assert.match(forbidden.next ?? "", /langgraph-studio-user/)
  assert.deepEqual([byEdge.next, isSignedOut(byEdge)], [undefined, true])
})

test("the official client asks once, and its error says the same", async () => {
  let asked = 0
  const fetch = async () => {
    asked++
    return explained(reply(401, "r1"), deployed)
  }
  const client = new Client({ apiUrl: "http://agent.example", apiKey: null, callerOptions: { fetch } })

  const error = await client.threads.get("t").catch((reason: unknown) => reason)

  assert.equal(asked, 1)
  assert.match(agentFailureOf(error)?.next ?? "", /asks for its own login/)
})
