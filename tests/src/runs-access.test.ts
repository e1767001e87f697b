/** Runs under a project's own access rules, through the official client: what a graph is told, and who sees which run. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Client } from "@langchain/langgraph-sdk"
import { serverForAll } from "./testing/agent-servers.js"
import { ask, bearer } from "./testing/ask.js"

// biome-ignore lint/suspicious/noExplicitAny: what a run or its state holds is what each test asserts
type Any = any

const config = fileURLToPath(new URL("../guarded/langgraph.json", import.meta.url))
const input = { text: "hi" }

const server = serverForAll({ env: { SUPERSTEP_CONFIG: config } })

const clientOf = (name: string) =>
  new Client({
    apiUrl: server.url,
    defaultHeaders: { ...server.headers, ...bearer(name) },
    callerOptions: { maxRetries: 0 },
  })

test("a graph is told who calls, on a thread and without one, and those who read the run are not", async () => {
  const ada = clientOf("ada")
  const { thread_id: threadId } = await ada.threads.create()

  const threaded: Any = await ada.runs.wait(threadId, "echo", { input })
  const stateless: Any = await ada.runs.wait(null, "echo", { input })
  const [run] = await ada.runs.list(threadId)

  for (const { user } of [threaded, stateless]) {
    assert.deepEqual(user.user, {
      identity: "ada",
      display_name: "ADA",
      is_authenticated: true,
      permissions: ["agents"],
      team: { id: 7 },
    })
    assert.deepEqual([user.id, user.permissions], ["ada", ["agents"]])
  }
  const { configurable } = (run as Any).kwargs.config
  assert.equal(configurable.user_id, "ada")
  assert.doesNotMatch(JSON.stringify(run), /langgraph_auth|ADA/)
  assert.equal((run as Any).metadata.owner, "ada")
})

test("a key is the caller's own", async () => {
  const key = randomUUID()
  const create = (name: string) =>
    ask(server, "/runs", {
      method: "POST",
      body: JSON.stringify({ assistant_id: "echo", input, on_completion: "keep" }),
      headers: { ...bearer(name), "idempotency-key": key },
    })

  const [ada, bob, again] = [await create("ada"), await create("bob"), await create("ada")]

  assert.notEqual(ada.body.run_id, bob.body.run_id)
  assert.equal(again.body.run_id, ada.body.run_id)
})
