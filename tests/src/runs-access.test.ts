/** Runs under a project's own access rules, through the official client: what a graph is told, and who sees which run. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Client } from "@langchain/langgraph-sdk"
import { sql } from "@superstep/toolkit/db/sql"
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

test("the runs of another are not there, whatever is asked of them", async () => {
  const [ada, bob] = [clientOf("ada"), clientOf("bob")]
  const { thread_id: threadId } = await ada.threads.create()
  const run = await ada.runs.create(threadId, "echo", { input, afterSeconds: 3600 })
  const runId = run.run_id
  const rows = () => server.db.rows(sql`select run_id, status, cancel_action, watched_by from runs order by seq`)
  const untouched = await rows()
  const first = async (stream: AsyncIterable<unknown>) => {
    for await (const event of stream) return event
    return undefined
  }

  const attempts: Record<string, () => Promise<unknown>> = {
    create: () => bob.runs.create(threadId, "echo", { input }),
    "create if missing": () => bob.runs.create(threadId, "echo", { input, ifNotExists: "create" }),
    "roll back": () => bob.runs.create(threadId, "echo", { input, multitaskStrategy: "rollback" }),
    stream: () => first(bob.runs.stream(threadId, "echo", { input })),
    wait: () => bob.runs.wait(threadId, "echo", { input }),
    list: () => bob.runs.list(threadId),
    get: () => bob.runs.get(threadId, runId),
    join: () => bob.runs.join(threadId, runId),
    "join its stream": () => first(bob.runs.joinStream(threadId, runId)),
    "join and cancel": () => bob.runs.join(threadId, runId, { cancelOnDisconnect: true }),
    "join its stream without the thread": () => first(bob.runs.joinStream(null, runId)),
    cancel: () => bob.runs.cancel(threadId, runId, true, "rollback"),
    "cancel some": () => bob.runs.cancelMany({ threadId, runIds: [runId], action: "rollback" }),
    "cancel all": () => bob.runs.cancelMany({ status: "all", action: "rollback" }),
    delete: () => bob.runs.delete(threadId, runId),
  }
  for (const [name, attempt] of Object.entries(attempts)) {
    await assert.rejects(attempt(), (error: Any) => error.status === 404, name)
  }

  assert.deepEqual(await rows(), untouched)
  assert.equal((await ada.runs.get(threadId, runId)).status, "pending")
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
