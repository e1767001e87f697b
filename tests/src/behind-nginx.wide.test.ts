/** Requests that last longer than nginx keeps a silent connection open (decisions, agent server 18). */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { startAgentServer } from "./testing/agent-servers.js"
import { startNginx, withoutNginx } from "./testing/nginx.js"

const config = fileURLToPath(new URL("../graphs/agents.json", import.meta.url))
// A byte comes each second, the first after two; a run lasts 25 s.
const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_KEEP_ALIVE_SECONDS: "1" }
const silentSeconds = 5
const slow = { assistant_id: "slow", input: { n: 0 }, config: { configurable: { tick_ms: 5000 } } }
const message = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "data", data: { n: 0 } }] }
const sent = { jsonrpc: "2.0", id: 1, method: "message/send", params: { message } }
const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "lasting", arguments: { n: 0 } } }

test("requests that last come through nginx", {
  skip: withoutNginx || unlessWide("takes 30 s"),
  concurrency: true,
}, async (t) => {
  await using db = await freshDatabase()
  await using server = await startAgentServer({ databaseUri: db.uri, env })
  await using nginx = await startNginx(server.url, { silentSeconds })
  const send = (method: string, path: string, body?: object, accept = "application/json") =>
    fetch(`${nginx.url}${path}`, {
      method,
      headers: { ...server.headers, accept, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    })
  const newThread = async () => ((await (await send("POST", "/threads", {})).json()) as { thread_id: string }).thread_id
  const newRun = async () => {
    const threadId = await newThread()
    const { run_id } = (await (await send("POST", `/threads/${threadId}/runs`, slow)).json()) as { run_id: string }
    return `/threads/${threadId}/runs/${run_id}`
  }
  const lasting = await server.client.assistants.create({ graphId: "slow", name: "lasting", config: slow.config })
  const both = "application/json, text/event-stream"
  const requests = {
    "runs/wait": async () => send("POST", "/runs/wait", slow),
    "a thread's runs/wait": async () => send("POST", `/threads/${await newThread()}/runs/wait`, slow),
    join: async () => send("GET", `${await newRun()}/join`),
    "runs/stream": async () => send("POST", "/runs/stream", slow, "text/event-stream"),
    "a joined stream": async () => send("GET", `${await newRun()}/stream`, undefined, "text/event-stream"),
    "a call of a tool": async () => send("POST", "/mcp", call, both),
    "a call of a tool for a client that accepts only JSON": async () => send("POST", "/mcp", call),
    "a message to another agent": async () => send("POST", `/a2a/${lasting.assistant_id}`, sent),
  }

  await Promise.all(
    Object.entries(requests).map(([name, request]) =>
      t.test(name, async () => {
        const response = await request()
        const chunks: string[] = []
        for await (const chunk of response.body ?? []) chunks.push(Buffer.from(chunk).toString())

        assert.equal(response.status, 200, chunks.join(""))
        assert.ok(chunks.length > 5, "bytes come as they are sent")
        // Every form of the result has the state after the last step.
        assert.match(chunks.join(""), /n\\*":\s?5/)
      }),
    ),
  )
})
