/** The assistants as tools of MCP, through the official client (agent-server-api §10). */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { type AgentServerProcess, startServerWithDatabase } from "./testing/agent-servers.js"
import { ask } from "./testing/ask.js"

const config = fileURLToPath(new URL("../graphs/agents.json", import.meta.url))
// The first list reads the sources of every graph for its schema, with the TypeScript compiler.
const patienceMs = 240_000
const patience = { LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS: String(patienceMs) }
const both = "application/json, text/event-stream"

async function connect({ url, headers }: AgentServerProcess): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  return client
}

const textOf = ({ content }: CallToolResult) => (content[0]?.type === "text" ? content[0].text : "")

test("assistants are tools of MCP", async (t) => {
  await using server = await startServerWithDatabase({
    env: { SUPERSTEP_CONFIG: config, SUPERSTEP_KEEP_ALIVE_SECONDS: "1", ...patience },
  })
  const client = await connect(server)
  const call = async (name: string, args: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: args })) as CallToolResult
  const send = (method: string, body?: unknown, headers: Record<string, string> = {}, path = "/mcp") =>
    fetch(`${server.url}${path}`, {
      method,
      headers: { ...server.headers, accept: both, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    })
  const errorOf = async (reply: Response) =>
    ((await reply.json()) as { error: { code: number; message: string } }).error

  await t.test("the client learns who the server is and which tools it has", async () => {
    // A list that comes before the sources are read has tools that accept anything.
    const { tools, chat } = await until(
      async () => {
        const listed = (await client.listTools()).tools
        const found = listed.find(({ name }) => name === "chat")
        return "messages" in (found?.inputSchema.properties ?? {}) && { tools: listed, chat: found }
      },
      { what: "the schema of the tool", timeoutMs: patienceMs },
    )

    assert.deepEqual(client.getServerCapabilities(), { tools: {} })
    assert.equal(client.getServerVersion()?.name, "superstep")
    assert.deepEqual(tools.map(({ name }) => name).sort(), ["chat", "error", "hitl", "slow"])
    assert.equal(chat?.description, "Says hi.")
    await client.ping()
  })

  await t.test("a call runs the assistant, and nothing of it is left", async () => {
    const result = await call("chat", { messages: [{ role: "user", content: "hi" }] })

    assert.equal(result.isError, false)
    assert.equal(JSON.parse(textOf(result)).messages.at(-1).content, "Hi!")
    assert.equal((await server.db.row<{ n: number }>(sql`select count(*) as n from threads`))?.n, 0)
  })

  await t.test("a run that fails is a result that says so, one that asks shows its question", async () => {
    const failed = await call("error", { x: 1 })
    const asking = await call("hitl", { x: 1 })

    assert.equal(failed.isError, true)
    assert.match(textOf(failed), /TypeError: node exploded/)
    assert.deepEqual(JSON.parse(textOf(asking)).__interrupt__[0].value, { question: "continue?" })
  })

  await t.test("names are MCP's and unique, however assistants are called, and pages hold them all", async () => {
    const { assistants } = server.client
    const first = await assistants.create({ graphId: "chat", name: "Ünser Chat, v2!" })
    const second = await assistants.create({ graphId: "chat", name: "Unser Chat  v2?" })
    for (let n = 0; n < 60; n++) await assistants.create({ graphId: "chat", name: "many" })
    const pages: string[][] = []
    let cursor: string | undefined
    do {
      const page = await client.listTools({ cursor })
      pages.push(page.tools.map(({ name }) => name))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    const names = pages.flat()

    assert.deepEqual(fieldsOf(pages, "length"), [50, 16])
    assert.equal(new Set(names).size, 66)
    assert.ok(names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)))
    assert.ok(names.includes("Unser_Chat_v2_"))
    assert.ok(names.includes(`Unser_Chat_v2__${second.assistant_id.replaceAll("-", "")}`))
    await assistants.delete(first.assistant_id)
    await assert.rejects(client.listTools({ cursor: "7x" }), /-32602/)
  })

  await t.test("what is no tool, no method or no message is refused in JSON-RPC's words", async () => {
    const request = { jsonrpc: "2.0", id: 1, method: "tools/list" }

    await assert.rejects(call("nobody", {}), /-32602.*Unknown tool: nobody/)
    assert.equal((await errorOf(await send("POST", { ...request, method: "resources/list" }))).code, -32601)
    for (const [body, code] of [
      ["{", -32700],
      [{ hello: 1 }, undefined],
    ] as const) {
      const reply = await send("POST", body)
      assert.equal(reply.status, 400, JSON.stringify(body))
      if (code) assert.equal((await errorOf(reply)).code, code)
    }
    for (const accept of ["text/event-stream", "*/*"]) {
      assert.equal((await send("POST", request, { accept })).status, 400, accept)
    }
    assert.equal((await send("POST", request, { accept: "application/json" })).status, 200)
    const notified = await send("POST", { jsonrpc: "2.0", method: "notifications/initialized" })
    assert.deepEqual([notified.status, await notified.text()], [202, ""])
    const slash = await send("POST", { ...request, method: "ping" }, {}, "/mcp/")
    assert.deepEqual(await slash.json(), { jsonrpc: "2.0", id: 1, result: {} })
    assert.equal((await send("GET")).status, 405)
    assert.equal((await send("DELETE")).status, 404)
  })

  await client.close()
})

test("a project may turn MCP and A2A off", { skip: unlessWide("starts another server") }, async () => {
  const off = fileURLToPath(new URL("../graphs/agents-off.json", import.meta.url))
  await using server = await startServerWithDatabase({ env: { SUPERSTEP_CONFIG: off } })
  const statusOf = async (method: string, path: string) => (await ask(server, path, { method })).status

  assert.equal(await statusOf("POST", "/mcp"), 404)
  assert.equal(await statusOf("POST", "/a2a/chat"), 404)
  assert.equal(await statusOf("GET", "/a2a/chat/.well-known/agent-card.json"), 404)
  assert.equal(await statusOf("GET", "/.well-known/agent-card.json?assistant_id=chat"), 404)
  assert.equal(await statusOf("GET", "/assistants/chat"), 200)
})
