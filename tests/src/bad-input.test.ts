/**
 * Every route that /openapi.json lists is asked for what cannot be: such a request is refused with words and changes
 * nothing, and none ends in a fault of the server. Routes that come later are covered by being in the document.
 */
import assert from "node:assert/strict"
import { test } from "node:test"
import { openDatabase } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { type AgentServerProcess, startAgentServer } from "./testing/agent-servers.js"
import { oddBodies, oddHeaders, oddQueryValues, oddSegments, oddValues } from "./testing/malformed.js"
import { type Document, type Route, type RouteBody, routesOf } from "./testing/openapi-routes.js"

// A request that is not answered within this is a hang.
const patienceMs = 30_000

const absent = "00000000-0000-4000-8000-000000000000"

interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
}

interface Reply {
  readonly status: number
  readonly text: string
}

/** A server with a thread on which a run has ended, and what its document lists. */
async function startServer(databaseUri: string) {
  const server = await startAgentServer({ databaseUri })
  const { client } = server
  const thread = await client.threads.create()
  const run = await client.runs.create(thread.thread_id, "steps", { input: {} })
  await client.runs.join(thread.thread_id, run.run_id)
  const ids: Readonly<Record<string, string>> = {
    thread_id: thread.thread_id,
    run_id: run.run_id,
    assistant_id: "steps",
  }
  const document = (await (await fetch(`${server.url}/openapi.json`, { headers: server.headers })).json()) as Document
  const routes = routesOf(document).map(({ body, ...route }) => ({ ...route, body: body && withGraph(body) }))
  return { server, ids, routes }
}

/** A body whose run fails at once, which is enough: what is odd is read before. */
const withGraph = (body: RouteBody): RouteBody =>
  "assistant_id" in body.least ? { ...body, least: { ...body.least, assistant_id: "fail" } } : body

const pathOf = (path: string, ids: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? absent)

async function ask({ url, headers: own }: AgentServerProcess, { method, path, body, headers }: Asked): Promise<Reply> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { "content-type": "application/json", ...own, ...headers },
    signal: AbortSignal.timeout(patienceMs),
    ...(body !== undefined && { body }),
  })
  // A stream may last; that it began is the answer.
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    await response.body?.cancel()
    return { status: response.status, text: "" }
  }
  return { status: response.status, text: await response.text() }
}

/** Asks for all, a few at a time. */
async function askAll(
  server: AgentServerProcess,
  requests: Iterator<Asked>,
  judge: (asked: Asked, reply: Reply) => void,
): Promise<void> {
  const askOn = async () => {
    for (let next = requests.next(); !next.done; next = requests.next())
      judge(next.value, await ask(server, next.value))
  }
  await Promise.all(Array.from({ length: 8 }, askOn))
}

const shown = ({ method, path, body, headers }: Asked): string =>
  `${method} ${path.slice(0, 200)} ${String(body ?? "").slice(0, 200)} ${headers ? JSON.stringify(headers).slice(0, 200) : ""}`

/** Whether a reply refuses in words. Protocols of their own (MCP, A2A) tell errors as JSON-RPC does. */
function isRefusal({ status, text }: Reply, { path }: Asked): boolean {
  if (status < 400 || status > 499) return false
  const body = JSON.parse(text) as { detail?: unknown; error?: { message?: unknown } }
  const words = /^\/(mcp|a2a)/.test(path) ? (body.error?.message ?? body.detail) : body.detail
  return typeof words === "string" && words.length > 0
}

/** What the schema of a route does not allow. */
function* forbiddenRequests(route: Route, ids: Readonly<Record<string, string>>): Generator<Asked> {
  const { method, body } = route
  const path = pathOf(route.path, ids)
  for (const [name, odd] of forbiddenQueries(route)) yield { method, path: `${path}?${name}=${odd}`, ...bodyFor(route) }
  if (!body) return
  for (const text of oddBodies) yield { method, path, body: text }
  for (const field of body.fields) {
    const { [field]: _, ...rest } = body.least
    for (const { text, value } of oddValues) {
      if (!body.allows({ ...rest, [field]: value })) yield { method, path, body: withField(rest, field, text) }
    }
  }
}

const bodyFor = ({ body }: Route): Pick<Asked, "body"> => (body ? { body: JSON.stringify(body.least) } : {})

const withField = (rest: object, field: string, text: string): string =>
  `${JSON.stringify(rest).slice(0, -1)}${Object.keys(rest).length > 0 ? "," : ""}${JSON.stringify(field)}:${text}}`

/** Of a query only what is a number or one of several words can be told to be wrong: a flag is false when it is not true. */
function* forbiddenQueries({ parameters }: Route): Generator<[string, string]> {
  for (const { name, in: place, schema = {} } of parameters) {
    if (place !== "query") continue
    const isNumber = schema.type === "integer" || schema.type === "number"
    const isChoice = Array.isArray(schema.enum)
    if (isNumber) for (const odd of ["x", "-1", "1e400", "NaN", "99999999999999999999999"]) yield [name, odd]
    if (isChoice) for (const odd of ["x", "%00", "7"]) yield [name, odd]
  }
}

/** What a schema may allow and nobody means. */
function* oddRequests(route: Route, ids: Readonly<Record<string, string>>): Generator<Asked> {
  const { method, body, parameters } = route
  const path = pathOf(route.path, ids)
  const usual = bodyFor(route)
  for (const { name, in: place } of parameters) {
    if (place === "path") {
      for (const odd of oddSegments) yield { method, path: pathOf(route.path, { ...ids, [name]: odd }), ...usual }
    }
    if (place === "query") {
      for (const odd of oddQueryValues) yield { method, path: `${path}?${name}=${odd.replace("KEY", name)}`, ...usual }
    }
  }
  for (const headers of oddHeaders) yield { method, path, headers, ...usual }
  for (const field of body?.fields ?? []) {
    const { [field]: _, ...rest } = body?.least ?? {}
    for (const { text, value } of oddValues) {
      if (body?.allows({ ...rest, [field]: value })) yield { method, path, body: withField(rest, field, text) }
    }
  }
}

/** How many rows each table has. */
async function rowCounts(databaseUri: string): Promise<Record<string, number>> {
  await using db = openDatabase({ uri: databaseUri, poolSize: 1, log: createLog({ process: "test", level: "silent" }) })
  const rows = await db.rows<{ name: string; count: number }>(sql`
    select relname as name, (xpath('/row/c/text()', query_to_xml(format('select count(*) as c from %I', relname), false, true, '')))[1]::text::int as count
    from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace order by relname`)
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}

test("a request that the document forbids is refused in words, and changes nothing", async (t) => {
  await using db = await freshDatabase()
  const { server, ids, routes } = await startServer(db.uri)
  await using _ = server

  assert.ok(routes.length > 10)
  for (const route of routes) {
    await t.test(`${route.method} ${route.path}`, async () => {
      const wrong: string[] = []
      const before = await rowCounts(db.uri)

      await askAll(server, forbiddenRequests(route, ids), (asked, reply) => {
        if (!isRefusal(reply, asked)) wrong.push(`${shown(asked)} -> ${reply.status} ${reply.text.slice(0, 200)}`)
      })

      assert.deepEqual(wrong, [])
      assert.deepEqual(await rowCounts(db.uri), before)
    })
  }
})

test("nothing that a client may send is a fault of the server", async (t) => {
  await using db = await freshDatabase()
  const { server, ids, routes } = await startServer(db.uri)
  await using _ = server

  // What deletes comes last, so that the others have something to ask about.
  const ordered = routes.toSorted((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"))
  for (const route of ordered) {
    await t.test(`${route.method} ${route.path}`, async () => {
      const faults: string[] = []

      await askAll(server, oddRequests(route, ids), (asked, { status, text }) => {
        if (status >= 500) faults.push(`${shown(asked)} -> ${status} ${text.slice(0, 200)}`)
      })

      assert.deepEqual(faults, [])
    })
  }
  assert.equal((await fetch(`${server.url}/ok?check_db=1`, { headers: server.headers })).status, 200)
  assert.doesNotMatch(server.log(), /"level":"error"/)
})
