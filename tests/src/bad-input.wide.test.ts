/**
 * Every route that /openapi.json lists is asked for what its schema forbids: such a request is refused with words and
 * changes nothing. Routes that come later are covered by being in the document.
 */
import assert from "node:assert/strict"
import { test } from "node:test"
import { openDatabase } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { createLog } from "@superstep/toolkit/log/log"
import { runsWideTests } from "@superstep/toolkit/testing/wide-tests"
import { agentDatabase } from "./testing/agent-servers.js"
import { oddHeaders } from "./testing/malformed.js"
import {
  type Asked,
  ask,
  askAll,
  bodyFor,
  forbiddenBodies,
  pathOf,
  type Reply,
  shown,
  startServer,
} from "./testing/malformed-requests.js"
import type { Route } from "./testing/openapi-routes.js"

/** Whether a reply refuses in words. Protocols of their own (MCP, A2A) tell errors as JSON-RPC does. */
function isRefusal({ status, text }: Reply, { path }: Asked): boolean {
  if (status < 400 || status > 499) return false
  const body = JSON.parse(text) as { detail?: unknown; error?: { message?: unknown } }
  const words = /^\/(mcp|a2a)/.test(path) ? (body.error?.message ?? body.detail) : body.detail
  return typeof words === "string" && words.length > 0
}

/** What the schema of a route does not allow. */
function* forbiddenRequests(route: Route, ids: Readonly<Record<string, string>>): Generator<Asked> {
  const { method } = route
  const path = pathOf(route.path, ids)
  for (const [name, odd] of forbiddenQueries(route)) yield { method, path: `${path}?${name}=${odd}`, ...bodyFor(route) }
  for (const body of forbiddenBodies(route)) yield { method, path, body }
}

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

/** How many rows each table has. */
async function rowCounts(databaseUri: string): Promise<Record<string, number>> {
  await using db = openDatabase({ uri: databaseUri, poolSize: 1, log: createLog({ process: "test", level: "silent" }) })
  const rows = await db.rows<{ name: string; count: number }>(sql`
    select relname as name, (xpath('/row/c/text()', query_to_xml(format('select count(*) as c from %I', relname), false, true, '')))[1]::text::int as count
    from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace order by relname`)
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}

/** All routes take half a minute: without the wider tests it is every third. */
const isAsked = (_: Route, index: number): boolean => runsWideTests || index % 3 === 0

test("a request that the document forbids is refused in words, and changes nothing", async (t) => {
  await using db = await agentDatabase()
  const { server, ids, routes } = await startServer(db.uri)
  await using _ = server
  const toServer = (asked: Asked) => ask(server, asked)

  assert.ok(routes.length > 10)
  for (const route of routes.filter(isAsked)) {
    await t.test(`${route.method} ${route.path}`, async () => {
      const wrong: string[] = []
      const before = await rowCounts(db.uri)

      await askAll(forbiddenRequests(route, ids), toServer, (asked, reply) => {
        if (!isRefusal(reply, asked)) wrong.push(shown(asked, reply))
      })

      assert.deepEqual(wrong, [])
      assert.deepEqual(await rowCounts(db.uri), before)
    })
  }
  for (const route of routes.filter(isAsked).filter(({ method }) => method !== "DELETE")) {
    await t.test(`${route.method} ${route.path}, with odd headers`, async () => {
      const [path, faults] = [pathOf(route.path, ids), [] as string[]]
      const requests = oddHeaders.map((headers): Asked => ({ method: route.method, path, headers, ...bodyFor(route) }))

      await askAll(requests.values(), toServer, (asked, reply) => {
        if (reply.status >= 500) faults.push(shown(asked, reply))
      })

      assert.deepEqual(faults, [])
    })
  }
})
