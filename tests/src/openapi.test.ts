/** The agent server's document is valid OpenAPI, lists every route, and its examples are accepted. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { startTestHttp } from "@superstep/server/testing/test-http"
import { migrations } from "@superstep/server/testing/test-server"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { assertWellFormed, operationsOf } from "./testing/openapi-routes.js"

interface Operation {
  readonly operationId: string
  readonly responses: Readonly<Record<string, { content?: Record<string, { schema?: object }> }>>
  readonly requestBody?: { content: Record<string, { example?: object }> }
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly security: readonly object[]
}

async function withDocument(
  use: (document: Document, http: Awaited<ReturnType<typeof startTestHttp>>) => Promise<void>,
) {
  await using db = await freshDatabase({ migrations })
  await using http = await startTestHttp(db, { unitToken: "t" })
  const reply = await http.send("GET", "/openapi.json", undefined, { "x-superstep-unit": "t" })
  await use(reply.json as Document, http)
}

test("the document is valid OpenAPI 3.1, with one shape for all failures", () =>
  withDocument(async (document) => {
    await assertWellFormed(document, "ErrorResponse")

    assert.deepEqual(document.security, [{ api_key: [] }])
  }))

test("every route is in the document, but those that only a supervisor calls", () =>
  withDocument(async (document, http) => {
    const served = http.routes
      .filter(({ method, path }) => method !== "ALL" && !path.startsWith("/internal/"))
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)(\{[^}]*\})?/g, "{$1}")}`)

    const listed = [...operationsOf(document).keys()]

    assert.deepEqual([...new Set(served)].sort(), listed.sort())
  }))

test("what the document shows as a body is one that its route takes", () =>
  withDocument(async (document, http) => {
    const headers = { "x-superstep-unit": "t" }
    const created = await http.send("POST", "/threads", {}, headers)
    const { thread_id } = created.json as { thread_id: string }

    for (const [name, { requestBody }] of operationsOf(document)) {
      const [method = "", path = ""] = name.split(" ")
      const example = requestBody?.content["application/json"]?.example
      // Nothing executes here, so what waits for a run is not asked.
      if (example === undefined || /\/(stream|wait)$/.test(path)) continue
      const reply = await http.send(method, path.replace("{thread_id}", thread_id), example, headers)
      // There is no such graph here, nor a worker to ask: that is no fault of the body.
      assert.ok(reply.status < 400 || [404, 503].includes(reply.status), `${name}: ${reply.text}`)
    }
  }))
