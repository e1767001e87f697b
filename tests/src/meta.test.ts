/** What a real server with real workers says about itself. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { startServerWithDatabase } from "./testing/agent-servers.js"

test("a server tells the project's version of LangGraph, and of its limits", async () => {
  await using server = await startServerWithDatabase({
    env: { SUPERSTEP_MAX_REQUESTS_PER_MINUTE: "3", MOUNT_PREFIX: "/agents", CORS_ALLOW_ORIGINS: "https://a.example" },
  })
  const get = (path: string) =>
    fetch(`${server.url}${path}`, { headers: { ...server.headers, origin: "https://a.example" } })

  const info = (await (await get("/agents/info")).json()) as Record<string, unknown>
  const document = await get("/agents/openapi.json")
  const pages = await Promise.all([1, 2, 3].map(() => get("/agents/docs")))
  const plain = [(await get("/ok")).status, (await get("/info")).status]

  assert.match(String(info.langgraph_js_version), /^\d+\.\d+\.\d+/)
  assert.equal(document.headers.get("access-control-allow-origin"), "https://a.example")
  assert.deepEqual(fieldsOf([document, ...pages], "status").sort(), [200, 200, 200, 429])
  // What is about the server is answered in any case, and beside the prefix is nothing but the probe.
  assert.equal(plain[0], 200)
  assert.ok(plain[1] === 404 || plain[1] === 429)
  assert.equal((await get("/agents/metrics")).status, 200)
})
