/** Requests that last longer than nginx keeps a silent connection open (decisions, agent server 18). Caddy has no such limit. */
import assert from "node:assert/strict"
import { json } from "node:stream/consumers"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { startServerWithDatabase } from "../testing/agent-servers.js"
import { recipe } from "../testing/recipes.js"
import { sendTo, startNginx, withoutNginx } from "../testing/reverse-proxies.js"

const config = fileURLToPath(new URL("../../graphs/agents.json", import.meta.url))
// A byte comes each second, the first after two; a run lasts 25 s.
const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_KEEP_ALIVE_SECONDS: "1" }
const shortLimit = { "proxy_read_timeout 1h": "proxy_read_timeout 5s" }
const slow = { assistant_id: "slow", input: { n: 0 }, config: { configurable: { tick_ms: 5000 } } }
const message = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "data", data: { n: 0 } }] }
const sent = { jsonrpc: "2.0", id: 1, method: "message/send", params: { message } }
const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "lasting", arguments: { n: 0 } } }

test("requests that last come through nginx", {
  skip: withoutNginx,
  concurrency: true,
}, async (t) => {
  await using server = await startServerWithDatabase({ env })
  const { host } = new URL(server.url)
  const place = { file: recipe("nginx/superstep.conf"), port: await freePort(), api: host, agents: host }
  await using nginx = await startNginx(place, shortLimit)
  const send = (method: string, path: string, body?: object, accept = "application/json") =>
    sendTo(nginx, `${nginx.agentsUrl}${path}`, {
      method,
      headers: { ...server.headers, accept },
      ...(body && { body }),
    })
  const answer = async <T>(reply: ReturnType<typeof send>) => (await json((await reply).body)) as T
  const newThread = async () => (await answer<{ thread_id: string }>(send("POST", "/threads", {}))).thread_id
  const newRun = async () => {
    const threadId = await newThread()
    const { run_id } = await answer<{ run_id: string }>(send("POST", `/threads/${threadId}/runs`, slow))
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
        const { status, body } = await request()
        const chunks: string[] = []
        for await (const chunk of body) chunks.push(String(chunk))

        assert.equal(status, 200, chunks.join(""))
        assert.ok(chunks.length > 5, "bytes come as they are sent")
        // Every form of the result has the state after the last step.
        assert.match(chunks.join(""), /n\\*":\s?5/)
      }),
    ),
  )
})
