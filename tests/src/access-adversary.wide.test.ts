/**
 * One user against the ids of another: every route of the server's own document, asked by somebody who is logged in and owns
 * nothing of what it names, answers as if it were not there, and the database is the same afterwards.
 */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { openDatabase } from "@superstep/toolkit/db/database"
import { createLog } from "@superstep/toolkit/log/log"
import { until } from "@superstep/toolkit/testing/until"
import { type AgentServerProcess, agentDatabase, startAgentServer } from "./testing/agent-servers.js"
import { ask, bearer } from "./testing/ask.js"
import { everyRow } from "./testing/every-row.js"
import { routesOf } from "./testing/openapi-routes.js"

const env = {
  SUPERSTEP_CONFIG: fileURLToPath(new URL("../guarded/langgraph.json", import.meta.url)),
}

/** In everything that is Ada's, and in no answer to Bob. */
const secret = "only-ada-may-read-this"

type Ids = Readonly<Record<string, string>>

interface Operation {
  readonly method: string
  /** As in the document: `/threads/{thread_id}`. */
  readonly path: string
}

/** What Ada owns: one of each thing that has an id. */
async function furnish(server: AgentServerProcess): Promise<Ids> {
  const send = async (path: string, body: unknown) => {
    const reply = await ask(server, path, { method: "POST", body: JSON.stringify(body), headers: bearer("ada") })
    assert.equal(reply.status, 200, `${path}: ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  const metadata = { note: secret }
  const { assistant_id } = await send("/assistants", {
    graph_id: "echo",
    name: "adas_tool",
    description: secret,
    metadata,
  })
  const { thread_id } = await send("/threads", { metadata })
  const run = { assistant_id, input: { text: secret }, metadata }
  const { run_id } = await send(`/threads/${thread_id}/runs`, run)
  const idle = async () =>
    (await ask(server, `/threads/${thread_id}`, { headers: bearer("ada") })).body.status === "idle"
  await until(idle, { what: "Ada's run is over" })
  const { cron_id } = await send(`/threads/${thread_id}/runs/crons`, { ...run, schedule: "0 0 1 1 *" })
  const state = await ask(server, `/threads/${thread_id}/state`, { headers: bearer("ada") })
  const { checkpoint_id } = state.body.checkpoint
  return { assistant_id, thread_id, run_id, cron_id, checkpoint_id, namespace: "sub" }
}

const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params })

const agentMessage = { role: "user", messageId: "1", parts: [{ kind: "text", text: "bob was here" }] }

/** A body that the route takes, and that names Ada's things where it names any. */
function bodyOf({ path }: Operation, ids: Ids): object {
  const { assistant_id, thread_id, run_id, checkpoint_id } = ids
  const run = { assistant_id, input: { text: "bob was here" } }
  if (path.endsWith("/runs/crons") || path === "/runs/crons") return { ...run, schedule: "0 0 1 1 *" }
  if (path.endsWith("/runs/batch")) return [run] as object
  if (path === "/runs/cancel") return { thread_id, run_ids: [run_id] }
  if (/\/runs(\/stream|\/wait)?$/.test(path)) return run
  if (path === "/threads") return { thread_id, if_exists: "do_nothing" }
  if (path === "/threads/prune") return { thread_ids: [thread_id] }
  if (path === "/assistants") return { assistant_id, graph_id: "echo", if_exists: "do_nothing" }
  if (path.endsWith("/latest")) return { version: 1 }
  if (path.endsWith("/state")) return { values: { text: "bob was here" } }
  if (path.endsWith("/state/checkpoint")) return { checkpoint: { checkpoint_id, thread_id, checkpoint_ns: "" } }
  if (path.endsWith("/state/bulk") || path.endsWith("/supersteps")) return { supersteps: [] }
  if (path === "/mcp") return rpc("tools/call", { name: "adas_tool", arguments: { text: "bob was here" } })
  if (path.startsWith("/a2a/")) return rpc("message/send", { message: agentMessage })
  if (path.endsWith("/commands")) return { id: 1, method: "run.start", params: { input: { text: "bob was here" } } }
  if (path.endsWith("/stream/events")) return { channels: ["values"] }
  return { metadata: { note: "bob was here" } }
}

function addressOf({ path }: Operation, ids: Ids): string {
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? "x"))
  return path === "/.well-known/agent-card.json" ? `${address}?assistant_id=${ids.assistant_id}` : address
}

async function request(server: AgentServerProcess, name: string, operation: Operation, ids: Ids) {
  const hasBody = operation.method !== "GET" && operation.method !== "DELETE"
  const leaving = new AbortController()
  const response = await fetch(`${server.url}${addressOf(operation, ids)}`, {
    method: operation.method,
    headers: {
      ...server.headers,
      ...bearer(name),
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    },
    ...(hasBody && { body: JSON.stringify(bodyOf(operation, ids)) }),
    signal: leaving.signal,
  })
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream")
  const text = isStream ? "a stream" : await response.text()
  leaving.abort()
  return { status: response.status, text }
}

// They name nothing of Ada's, whatever is asked of them.
const namesNothing = ({ method, path }: Operation) =>
  /^\/(ok|info|docs|openapi\.json|metrics)?$/.test(path) ||
  /\/(search|count|namespaces|items|queue)(\/|$)/.test(path) ||
  path.startsWith("/ui/") ||
  (path === "/mcp" && method !== "POST") ||
  (method === "GET" && path === "/assistants")

/** Of several ids some may be gone, so the answer is how many there were. */
const countsWhatItDid = ({ path }: Operation) => path === "/threads/prune"

/** Calls of methods: what is wrong with one is in its answer, not in its status. */
const isCall = ({ path }: Operation) => /^\/(mcp|a2a)(\/|$)|\/commands$/.test(path)

test("nobody reads or changes anything by the ids of somebody else", async (t) => {
  await using own = await agentDatabase()
  const db = openDatabase({ uri: own.uri, poolSize: 2, log: createLog({ process: "test", level: "silent" }) })
  await using server = await startAgentServer({ databaseUri: own.uri, env })
  const ids = await furnish(server)
  const operations = routesOf((await ask(server, "/openapi.json")).body)
  const about = operations.filter((operation) => !namesNothing(operation))
  assert.ok(about.filter(({ path }) => path.includes("{thread_id}")).length > 5)
  const rows = async () => {
    // A server renews its own row, whatever is asked.
    const { servers: _, ...others } = await everyRow(db)
    return others
  }
  const before = await rows()

  for (const operation of about) {
    await t.test(`Bob: ${operation.method} ${operation.path}`, async () => {
      const { status, text } = await request(server, "bob", operation, ids)

      const isNone = countsWhatItDid(operation) && status === 200 && /^\{"\w+":0\}$/.test(text)
      const isRefusedCall = isCall(operation) && status === 200 && /"error":\{|"type":"error"/.test(text)
      assert.ok([403, 404, 409].includes(status) || isNone || isRefusedCall, `${status} ${text}`)
      assert.equal(text.includes(secret), false, text)
    })
  }

  await t.test("searches of Bob find nothing of Ada's", async () => {
    const searches = ["/assistants/search", "/threads/search", "/runs/search", "/runs/crons/search"]
    const body = JSON.stringify({ limit: 1000 })
    for (const [path, request] of [
      ...searches.map((path) => [path, { method: "POST", body }] as const),
      ["/queue?status=running", {}] as const,
    ]) {
      const reply = await ask(server, path, { ...request, headers: bearer("bob") })

      assert.equal(reply.status, 200, path)
      assert.equal(JSON.stringify(reply.body).includes(secret), false, path)
    }
  })

  await t.test("the database is as it was", async () => assert.deepEqual(await rows(), before))

  await t.test("Ada gets an answer to each of these requests", async () => {
    // What takes things away comes last, the larger thing after the smaller one.
    const takesAway = (operation: Operation) => operation.method === "DELETE" || countsWhatItDid(operation)
    const order = (operation: Operation) => (takesAway(operation) ? 1000 - operation.path.length : 0)
    for (const operation of about.toSorted((a, b) => order(a) - order(b))) {
      const { status, text } = await request(server, "ada", operation, ids)

      assert.ok(
        ![403, 404, 405].includes(status) && status < 500,
        `${operation.method} ${operation.path}: ${status} ${text}`,
      )
    }
  })
  await db.close()
})
