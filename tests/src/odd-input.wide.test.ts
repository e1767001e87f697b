/**
 * Every route that /openapi.json lists is asked for what its schema may allow and nobody means: whatever it answers, it
 * is no fault of the server, and comes.
 */
import assert from "node:assert/strict"
import { test } from "node:test"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { agentDatabase } from "./testing/agent-servers.js"
import { oddHeaders, oddQueryValues, oddSegments, oddValues } from "./testing/malformed.js"
import { type Asked, askAll, bodyFor, pathOf, shown, startServer, withField } from "./testing/malformed-requests.js"
import type { Route } from "./testing/openapi-routes.js"

// Half a minute on a quiet machine and more on a busy one.
const skip = unlessLong("takes half a minute")

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

test("nothing that a client may send is a fault of the server", { skip }, async (t) => {
  await using db = await agentDatabase()
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
  const errors = server
    .log()
    .split("\n")
    .filter((line) => line.includes('"level":"error"'))
  // That a graph cannot do anything with its input is the graph's error.
  assert.deepEqual(
    errors.filter((line) => !line.includes('"msg":"run ended"')),
    [],
  )
})
