import assert from "node:assert/strict"
import { test } from "node:test"
import { onlyReads } from "./reads.js"

const thread = "/threads/01a1f938-efdf-712b-916a-f4b9a2dc3a1f"

test("GET, HEAD and searches by POST count as reading", () => {
  const reads: [string, string][] = [
    ["GET", thread],
    ["GET", `${thread}/stream`],
    ["HEAD", "/info"],
    ["GET", `${thread}/runs/r/join?cancel_on_disconnect=0`],
    ["GET", `${thread}/runs/r/stream?stream_mode=values&cancel_on_disconnect=false`],
    ["POST", "/assistants/search"],
    ["POST", "/assistants/count"],
    ["POST", "/threads/search?limit=1"],
    ["POST", "/threads/count"],
    ["POST", `${thread}/history`],
    ["POST", "/assistants/0190a1b2-0000-7000-8000-000000000000/versions"],
    ["POST", `${thread}/state/checkpoint`],
    ["POST", `${thread}/stream/events`],
    ["POST", "/store/items/search"],
    ["POST", "/store/namespaces"],
    ["POST", "/runs/crons/search"],
    ["POST", "/runs/crons/count"],
  ]
  for (const [method, path] of reads) assert.equal(onlyReads({ method, path }), true, `${method} ${path}`)
})

test("every other request may change something", () => {
  const changes: [string, string][] = [
    ["POST", "/threads"],
    ["POST", "/runs/stream"],
    ["POST", "/runs/wait"],
    ["POST", `${thread}/state`],
    ["PATCH", thread],
    ["DELETE", thread],
    ["PUT", "/store/items"],
    ["POST", "/mcp"],
    ["POST", "/a2a/chat"],
    ["POST", "/own/route"],
    ["OPTIONS", "/own/route"],
    ["QUERY", "/threads/search"],
    ["POST", "/threads/search/more"],
    ["POST", "/threads//search"],
    ["POST", "/threads/x%2Fruns%2Fstream/history"],
    ["POST", `${thread}/runs/history`],
    ["GET", `${thread}/runs/r/join?cancel_on_disconnect=1`],
    ["GET", `${thread}/runs/r/join?cancel_on_disconnect=0&cancel_on_disconnect=true`],
    ["GET", `${thread}/runs/r/stream?cancel%5Fon_disconnect=yes`],
  ]
  for (const [method, path] of changes) assert.equal(onlyReads({ method, path }), false, `${method} ${path}`)
  assert.equal(onlyReads({ method: "GET", path: "/socket", isUpgrade: true }), false)
})
