/** V5: a socket may be older than its thread. The access rules hold for each of its commands. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { freshHttp, guardedProject } from "../testing/test-http.js"
import { everything, executing } from "./testing/protocol-client.js"
import { connect } from "./testing/socket-client.js"

const owners = { ...guardedProject, auth: "./src/auth.ts:auth" }

const [ada, bob] = ["ada", "bob"].map((name) => ({ authorization: `Bearer ${name}-token` }))

test("a socket that is older than another user's thread learns nothing of it", async () => {
  await using http = await freshHttp({ gate: owners })
  const threadId = randomUUID()
  const [mine, strangers] = [await connect(http, threadId, [], ada), await connect(http, threadId, [], bob)]
  const early = await strangers.command("subscription.unsubscribe", { subscription_id: "x" })
  const started = await mine.command("run.start", { assistant_id: "agent", input: {} })
  const run_id = started.result.run_id as string
  await executing(run_id, http)

  const commands = [
    ["subscription.reconnect", { run_id }],
    ["subscription.subscribe", everything],
    ["agent.getTree", { run_id }],
    ["state.get", {}],
    ["run.start", { assistant_id: "agent", input: {} }],
  ] as const

  assert.equal(early.error, "no_such_subscription")
  for (const [method, params] of commands) {
    const { type, error, message, result } = await strangers.command(method, params)
    assert.deepEqual([type, error, result], ["error", "invalid_argument", undefined], method)
    assert.match(message, /not found/, method)
  }
  assert.deepEqual(strangers.events, [])
  const known = await mine.command("subscription.reconnect", { run_id })
  assert.deepEqual(known.result.current_namespaces, [{ namespace: [], status: "running" }])
})
